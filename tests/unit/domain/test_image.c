#include "unit.h"

#include "trainyard/domain/spec.h"

#define SHA256_HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define A50        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A250       A50 A50 A50 A50 A50

static void references_by_the_grammar_are_valid(void **state)
{
    static const char *const texts[] = {
        "ubuntu",
        "ubuntu:22.04",
        "pytorch/pytorch:2.0.0-cuda11.7-cudnn8-runtime",
        "registry.example/team/image",
        "registry.example:5000/team/image:tag_1.2-3",
        "localhost/image",
        "localhost:5000/image",
        "MyHost.example/image",
        "HOST/image",
        "10.0.0.1:443/a/b/c",
        "[2001:db8::1]/image",
        "[2001:db8::1]:5000/image:x",
        "a",
        "a--b",
        "a__b",
        "a.b_c-d",
        ("image@sha256:" SHA256_HEX),
        ("image:tag@sha256:" SHA256_HEX),
        ("image@sha512:" SHA256_HEX SHA256_HEX),
        ("image@multihash+base58:" SHA256_HEX),
        "image:_tag",
        "a__b.c/d", /* no domain, but a path */
        (A250 "aaaaa"),
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
        if (!ty_image_reference_valid(texts[i]))
            print_error("refused: %s\n", texts[i]);
        assert_true(ty_image_reference_valid(texts[i]));
    }
}

static void anything_else_is_not(void **state)
{
    static const char *const texts[] = {
        "",
        "Ubuntu:latest",
        "repo/Image",
        "repo/img:tag with space",
        "img@latest",
        "img\u200b:1",
        "img:",
        "img@",
        ":tag",
        "/img",
        "img/",
        "a//b",
        "-img",
        "img-",
        "a..b",
        "a___b",
        "a.-b",
        "img:-tag",
        "img:.tag",
        "img:a:b",
        "img@sha256:0123",
        "img@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef00",
        "img@sha256:zzzz456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        ("img@:" SHA256_HEX),
        ("img@sha+:" SHA256_HEX),
        ("img@1sha:" SHA256_HEX),
        "host:port/img",
        "host:123456/img",
        "-host.example/img",
        "host-.example/img",
        "host..example/img",
        "[2001:db8::1/img",
        "[zz::1]/img",
        "[]/img",
        "[::1]5/img",
        ".hidden/img",
        "img\n",
        "img\t:1",
        "http://registry.example/img",
        (A250 "aaaaaa"),
        ("img:" A50 A50 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
        if (ty_image_reference_valid(texts[i]))
            print_error("accepted: %s\n", texts[i]);
        assert_false(ty_image_reference_valid(texts[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_by_the_grammar_are_valid),
        cmocka_unit_test(anything_else_is_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
