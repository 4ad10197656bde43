#include "file_path.h"

static int hex_value(char c)
{
    static const char digits[] = "0123456789abcdef";
    if (c >= 'A' && c <= 'F')
        c = (char)(c - 'A' + 'a');
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

static bool decode(const char *text, char *out, size_t size)
{
    size_t len = 0;
    for (; *text; text++) {
        char c = *text;
        if (c == '%') {
            int high = hex_value(text[1]);
            int low = high >= 0 ? hex_value(text[2]) : -1;
            if (low < 0 || high * 16 + low == 0)
                return false;
            c = (char)(high * 16 + low);
            text += 2;
        }
        if (len + 1 >= size)
            return false;
        out[len++] = c;
    }
    out[len] = '\0';
    return len > 0;
}

/* No segment is empty, "." or "..". */
static bool stays_below(const char *path)
{
    for (;;) {
        size_t len = strcspn(path, "/");
        if (len == 0 || (len == 1 && path[0] == '.') ||
            (len == 2 && path[0] == '.' && path[1] == '.'))
            return false;
        if (path[len] == '\0')
            return true;
        path += len + 1;
    }
}

bool cli_path_of_link(const char *link, char *out, size_t size)
{
    static const char folder[] = "/artifacts/";
    const char *at = ty_str_starts(link, "/v1/jobs/") ? strstr(link, folder) : NULL;
    return at && decode(at + strlen(folder), out, size) && stays_below(out);
}
