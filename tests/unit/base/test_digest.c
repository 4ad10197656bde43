#include "unit.h"

#include "trainyard/base/digest.h"

#include <stdlib.h>

static void check_hex(const uint8_t digest[TY_SHA256], const char *expected)
{
    char hex[TY_SHA256_HEX];

    ty_hex(digest, TY_SHA256, hex);
    assert_string_equal(hex, expected);
}

static const char abc_digest[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char empty_digest[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

static void sha256_gives_the_published_digests(void **state)
{
    uint8_t digest[TY_SHA256];

    (void)state;
    assert_int_equal(ty_sha256("abc", 3, digest), TY_OK);
    check_hex(digest, abc_digest);
    assert_int_equal(ty_sha256(NULL, 0, digest), TY_OK);
    check_hex(digest, empty_digest);
}

static void a_digest_fed_in_pieces_is_that_of_the_whole(void **state)
{
    struct ty_sha256_stream *stream;
    uint8_t digest[TY_SHA256];

    (void)state;
    assert_int_equal(ty_sha256_begin(&stream), TY_OK);
    ty_sha256_feed(stream, "a", 1);
    ty_sha256_feed(stream, "", 0);
    ty_sha256_feed(stream, "bc", 2);
    assert_int_equal(ty_sha256_finish(stream, digest), TY_OK);
    check_hex(digest, abc_digest);
    assert_int_not_equal(ty_sha256_finish(stream, digest), TY_OK);
    check_hex(digest, abc_digest);
    ty_sha256_destroy(stream);
    ty_sha256_destroy(NULL);
}

/* RFC 4231, test cases 1, 2 and 6. */
static void hmac_gives_the_digests_of_rfc_4231(void **state)
{
    uint8_t key[131];
    uint8_t digest[TY_SHA256];

    (void)state;
    memset(key, 0x0b, 20);
    assert_int_equal(ty_hmac_sha256(key, 20, "Hi There", 8, digest), TY_OK);
    check_hex(digest, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    assert_int_equal(ty_hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, digest), TY_OK);
    check_hex(digest, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof(key));
    assert_int_equal(ty_hmac_sha256(key, sizeof(key),
                                    "Test Using Larger Than Block-Size Key - Hash Key First", 54,
                                    digest),
                     TY_OK);
    check_hex(digest, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    assert_int_equal(ty_hmac_sha256("", 0, "", 0, digest), TY_OK);
    check_hex(digest, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void crc32_is_that_of_ieee(void **state)
{
    (void)state;
    assert_int_equal(ty_crc32("123456789", 9), 0xcbf43926);
    assert_int_equal(ty_crc32("", 0), 0);
}

static void equality_in_constant_time_sees_every_byte(void **state)
{
    char a[64] = {0};
    char b[64] = {0};

    (void)state;
    assert_true(ty_equal_constant_time(a, b, sizeof(a)));
    assert_true(ty_equal_constant_time(a, b, 0));
    for (size_t i = 0; i < sizeof(a); i++) {
        b[i] = 1;
        assert_false(ty_equal_constant_time(a, b, sizeof(a)));
        b[i] = 0;
    }
}

static void wiping_leaves_only_zeroes(void **state)
{
    char secret[] = "secret";
    char zeroes[sizeof(secret)] = {0};

    (void)state;
    ty_wipe(secret, sizeof(secret));
    assert_memory_equal(secret, zeroes, sizeof(secret));
}

/* RFC 4648, section 10. */
static const struct {
    const char *plain;
    const char *base64;
    const char *base64url;
} encodings[] = {
    {"",             "",         ""        },
    {"f",            "Zg==",     "Zg"      },
    {"fo",           "Zm8=",     "Zm8"     },
    {"foo",          "Zm9v",     "Zm9v"    },
    {"foob",         "Zm9vYg==", "Zm9vYg"  },
    {"fooba",        "Zm9vYmE=", "Zm9vYmE" },
    {"foobar",       "Zm9vYmFy", "Zm9vYmFy"},
    {"\xfb\xff\xbf", "+/+/",     "-_-_"    },
};

static void base64_gives_the_texts_of_rfc_4648_and_reads_them_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(encodings); i++) {
        size_t len = strlen(encodings[i].plain);
        char text[16];
        uint8_t back[16];
        size_t back_len;

        assert_int_equal(ty_base64(encodings[i].plain, len, text), strlen(encodings[i].base64));
        assert_string_equal(text, encodings[i].base64);
        assert_int_equal(ty_base64_decode(text, strlen(text), back, len, &back_len), TY_OK);
        assert_int_equal(back_len, len);
        assert_memory_equal(back, encodings[i].plain, len);
        assert_int_equal(ty_base64url(encodings[i].plain, len, text),
                         strlen(encodings[i].base64url));
        assert_string_equal(text, encodings[i].base64url);
        assert_int_equal(ty_base64url_decode(text, strlen(text), back, len, &back_len), TY_OK);
        assert_int_equal(back_len, len);
        assert_memory_equal(back, encodings[i].plain, len);
    }
}

static void all_bytes_survive_both_encodings(void **state)
{
    uint8_t bytes[256];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 7 + 3);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        char text[4 * 86 + 1];
        uint8_t back[256];
        size_t back_len;
        size_t text_len = ty_base64url(bytes, len, text);

        assert_int_equal(text_len, (len * 4 + 2) / 3);
        assert_int_equal(ty_base64url_decode(text, text_len, back, len, &back_len), TY_OK);
        assert_int_equal(back_len, len);
        assert_memory_equal(back, bytes, len);
        text_len = ty_base64(bytes, len, text);
        assert_int_equal(text_len, 4 * ((len + 2) / 3));
        assert_int_equal(ty_base64_decode(text, text_len, back, len, &back_len), TY_OK);
        assert_memory_equal(back, bytes, len);
    }
}

static void loose_forms_are_refused_and_outputs_untouched(void **state)
{
    static const char *const url_cases[] = {"Z",    "Zg==", "Zh",    "Zm9",  "+/+/",
                                            "Zm 8", "Zg\n", "Zm9v=", "====", "\xc3\xa9"};
    static const char *const cases[] = {"Zg",   "Zg=",  "Zh==",     "Zm9=", "-_-_", "Zg==\n",
                                        "====", "=Zg=", "Zg==Zg==", "Z===", "Zm8",  "\xc3\xa9=="};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(url_cases); i++) {
        uint8_t out[8] = {9};
        size_t len = 77;

        assert_int_equal(
            ty_base64url_decode(url_cases[i], strlen(url_cases[i]), out, sizeof(out), &len),
            TY_INVALID);
        assert_int_equal(len, 77);
        assert_int_equal(out[0], 9);
    }
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        uint8_t out[8] = {9};
        size_t len = 77;

        assert_int_equal(ty_base64_decode(cases[i], strlen(cases[i]), out, sizeof(out), &len),
                         TY_INVALID);
        assert_int_equal(len, 77);
        assert_int_equal(out[0], 9);
    }
}

static void an_output_that_is_too_small_is_refused(void **state)
{
    uint8_t out[2] = {9, 9};
    size_t len = 77;

    (void)state;
    assert_int_equal(ty_base64url_decode("Zm9v", 4, out, 2, &len), TY_TOO_LARGE);
    assert_int_equal(len, 77);
    assert_int_equal(out[0], 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_gives_the_published_digests),
        cmocka_unit_test(a_digest_fed_in_pieces_is_that_of_the_whole),
        cmocka_unit_test(hmac_gives_the_digests_of_rfc_4231),
        cmocka_unit_test(crc32_is_that_of_ieee),
        cmocka_unit_test(equality_in_constant_time_sees_every_byte),
        cmocka_unit_test(wiping_leaves_only_zeroes),
        cmocka_unit_test(base64_gives_the_texts_of_rfc_4648_and_reads_them_back),
        cmocka_unit_test(all_bytes_survive_both_encodings),
        cmocka_unit_test(loose_forms_are_refused_and_outputs_untouched),
        cmocka_unit_test(an_output_that_is_too_small_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
