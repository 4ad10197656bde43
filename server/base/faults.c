#include "trainyard/base/faults.h"

#include "trainyard/base/str.h"

#include <stdarg.h>
#include <stdio.h>

void ty_faults_init(struct ty_faults *faults)
{
    faults->count = 0;
    faults->dropped = 0;
}

/* Put "…" over the end of a text that was cut, without leaving half a UTF-8 sequence in front of
 * it. */
static void mark_cut(char *text, size_t size)
{
    static const char ellipsis[] = "\xe2\x80\xa6";
    size_t end = size - sizeof(ellipsis);

    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
        end--;
    memcpy(text + end, ellipsis, sizeof(ellipsis));
}

void ty_faults_add(struct ty_faults *faults, ty_fault_place place, const char *where,
                   const char *code, const char *format, ...)
{
    struct ty_fault *fault;
    va_list args;
    int len;

    if (faults->count == TY_FAULTS_MAX) {
        faults->dropped++;
        return;
    }
    fault = &faults->items[faults->count++];
    *fault = (struct ty_fault){.place = place};
    if (!ty_str_copy(fault->where, sizeof(fault->where), where))
        mark_cut(fault->where, sizeof(fault->where));
    (void)ty_str_copy(fault->code, sizeof(fault->code), code);
    va_start(args, format);
    len = vsnprintf(fault->detail, sizeof(fault->detail), format, args);
    va_end(args);
    if (len < 0)
        fault->detail[0] = '\0';
    else if ((size_t)len >= sizeof(fault->detail))
        mark_cut(fault->detail, sizeof(fault->detail));
}
