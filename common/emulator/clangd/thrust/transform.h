#pragma once

namespace thrust {

struct par_t {};
namespace cuda {
extern const par_t par, par_nosync;
}
template <class T>
struct plus {};
template <class... Arguments>
void transform(const par_t& policy, Arguments... arguments);

template <class Incrementable>
Incrementable* make_counting_iterator(Incrementable first);
template <class Function, class Iterator>
Iterator make_transform_iterator(Iterator from, Function function);

}  // namespace thrust
