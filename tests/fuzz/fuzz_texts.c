/* The small grammars of the domain: quantities, image references, tokens, parameter names. */
#include "trainyard/domain/access.h"
#include "trainyard/domain/spec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_quantity(const char *text)
{
    int64_t millis = -1;

    if (ty_quantity_parse(text, &millis) == TY_OK ? millis < 0 : millis != -1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char variable[TY_PARAMETER_VARIABLE];
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    check_quantity(text);
    ty_parameter_variable(text, variable);
    if (ty_image_reference_valid(text) && strpbrk(text, " \t\n\"'\\"))
        abort();
    (void)ty_token_well_formed(text);
    free(text);
    return 0;
}
