// The macros of macros.h are as they were.
#if !defined(None) || !defined(Bool) || !defined(Status) || !defined(min) || !defined(max) || !defined(signals) || \
    !defined(foreach) || !defined(interface) || !defined(I) || !defined(DEBUG) || !defined(CHECK)
#error "a macro is lost"
#endif
static_assert(None == 0 && True == 1 && ERROR == 0 && max(1, 2) == 2);
