#pragma once

namespace fulgurite {

/// True if uses of freed memory are detected. Detection requires that memory is really freed, so caches should be off.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool address_is_sanitized = true;
#else
inline constexpr bool address_is_sanitized = false;
#endif
#else
inline constexpr bool address_is_sanitized = false;
#endif

/// True if data races are detected.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool thread_is_sanitized = true;
#else
inline constexpr bool thread_is_sanitized = false;
#endif
#else
inline constexpr bool thread_is_sanitized = false;
#endif

}  // namespace fulgurite
