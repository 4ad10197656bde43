/* The strict reader in front of libmicrohttpd.
 *
 * The library (0.9.75) reads heads leniently: bare line feeds, folded fields, two lengths, no Host.
 * It also answers what it cannot read with pages of its own. So it never sees a client's head.
 * Every byte passes this reader first, which judges it by RFC 9112, keeps the parsed head for the
 * dispatcher, and hands the library a normal form that says no more than how the body is framed and
 * whether the connection lives on:
 *
 *     G / HTTP/1.1 CRLF Host:h CRLF [Content-Length:N CRLF | Transfer-Encoding:chunked CRLF]
 * [Expect:100-continue CRLF] [Connection:close CRLF] CRLF
 *
 * Bodies pass unchanged, but for chunk extensions and trailers, which are dropped. What breaks a
 * rule stops the reader: the messages before it still go through, then nothing more. Pure: bytes
 * in, bytes out. */
#ifndef TRAINYARD_HTTP_READER_H
#define TRAINYARD_HTTP_READER_H

#include "head.h"

struct ty_reader_limits {
    size_t head_bytes;
    size_t target_bytes;
    unsigned fields;
    unsigned requests;
};

typedef enum {
    TY_READ_AWAIT, /* between messages */
    TY_READ_HEAD,
    TY_READ_BODY,  /* Content-Length */
    TY_READ_CHUNK, /* chunked, `chunk` tells where */
    TY_READ_DONE,  /* the last message was the last: all further bytes are dropped */
    TY_READ_FAULT  /* `fault` tells why: all further bytes are dropped */
} ty_reader_phase;

typedef enum {
    TY_CHUNK_SIZE,
    TY_CHUNK_EXTENSION,
    TY_CHUNK_SIZE_LF,
    TY_CHUNK_DATA,
    TY_CHUNK_DATA_CR,
    TY_CHUNK_DATA_LF,
    TY_CHUNK_LINE, /* at the start of a trailer line */
    TY_CHUNK_NAME,
    TY_CHUNK_VALUE,
    TY_CHUNK_VALUE_LF,
    TY_CHUNK_END_LF
} ty_chunk_phase;

/* The one empty line that may stand before a message. */
typedef enum { TY_BLANK_NONE, TY_BLANK_CR, TY_BLANK_LINE } ty_blank;

struct ty_reader {
    const struct ty_reader_limits *limits;
    ty_reader_phase phase;
    ty_chunk_phase chunk;
    unsigned line_bytes; /* of the chunk line or trailer section being read */
    unsigned size_digits;
    uint64_t left; /* of the body or chunk */
    ty_blank blank;
    bool last;         /* this message is the connection's last */
    unsigned requests; /* heads read so far */
    unsigned lines;    /* of the head being read */
    size_t line_start;
    struct ty_head *filling;
    struct ty_head *ready_first; /* complete, not yet taken */
    struct ty_head *ready_last;
    struct ty_head *spare;
    struct ty_wire_fault fault;
    bool fault_on_head_method; /* the faulty message is a HEAD request: its answer has no body */
};

/* The longest normal form of a head. */
enum { TY_READER_RESERVE = 128 };

void ty_reader_init(struct ty_reader *reader, const struct ty_reader_limits *limits);
void ty_reader_done(struct ty_reader *reader);

/* Read `len` bytes at `in`, write what the library may see to `out`, return its length: at most len
 * + TY_READER_RESERVE. The two may lie in one buffer when `out` is at least TY_READER_RESERVE bytes
 * before `in`. */
size_t ty_reader_feed(struct ty_reader *reader, const char *in, size_t len, char *out);

/* The oldest complete head, now the caller's; NULL when there is none. */
struct ty_head *ty_reader_take(struct ty_reader *reader);

/* Give a head back for re-use. */
void ty_reader_give(struct ty_reader *reader, struct ty_head *head);

#endif
