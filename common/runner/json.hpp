// Writes JSON on one line.
#pragma once
#include <cmath>
#include <cstdio>
#include <string>

namespace ladder {

inline std::string format(const char* text, double a) {
  if (std::isnan(a)) return "nan";  // printf may say -nan
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, text, a);
  return buffer;
}

namespace json {

inline std::string text(const std::string& content) {
  std::string json = "\"";
  for (const char c : content) {
    if (c == '"' || c == '\\') json += '\\';
    json += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return json + "\"";
}

// JSON has no infinity or NaN; they become null.
inline std::string number(const char* pattern, double value) {
  return std::isfinite(value) ? format(pattern, value) : "null";
}

// "[f(item), ...]"
template <typename Items, typename Format>
std::string list(const Items& items, const Format& format_item) {
  std::string all;
  for (const auto& item : items) all += (all.empty() ? "" : ", ") + format_item(item);
  return "[" + all + "]";
}

class Object {
 public:
  Object& add_raw(const std::string& key, const std::string& raw) {
    content_ += (content_.empty() ? "" : ", ") + text(key) + ": " + raw;
    return *this;
  }
  Object& add(const std::string& key, bool value) { return add_raw(key, value ? "true" : "false"); }
  template <typename Integer>
  Object& add(const std::string& key, Integer value) {
    return add_raw(key, std::to_string(value));
  }
  Object& add_text(const std::string& key, const std::string& value) { return add_raw(key, text(value)); }
  Object& add_number(const std::string& key, const char* pattern, double value) {
    return add_raw(key, number(pattern, value));
  }
  bool empty() const { return content_.empty(); }
  std::string str() const { return "{" + content_ + "}"; }

 private:
  std::string content_;
};

}  // namespace json
}  // namespace ladder
