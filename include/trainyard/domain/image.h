/* Image references taken apart, and the patterns that a policy allows them by. Pure. */
#ifndef TRAINYARD_DOMAIN_IMAGE_H
#define TRAINYARD_DOMAIN_IMAGE_H

#include "trainyard/base/error.h"

#include <stdbool.h>

/* A reference with everything explicit that a container runtime adds by itself (the rules of
 * Docker's reference library): `pytorch/pytorch` is registry docker.io, repository pytorch/pytorch,
 * tag latest; `ubuntu` is docker.io, library/ubuntu. Registries are in lower case. */
struct ty_image {
    char registry[256];
    char repository[256];
    char tag[129];    /* "" only beside a digest: then no tag was given */
    char digest[256]; /* "sha256:…" or "" */
};

/* TY_INVALID when `text` is no reference (ty_image_reference_valid) or too long; *image_out
 * untouched. */
ty_status ty_image_parse(const char *text, struct ty_image *image_out) TY_MUST_CHECK;

/* What a policy allows:
 *   a star alone: every image;
 *   a registry or a path and "/" and a star (ghcr.io/acme/): every repository below it;
 *   pytorch/pytorch: that repository (of docker.io) with any tag or digest;
 *   pytorch/pytorch:2.0: that tag. Beside a digest a tag says nothing of what is run, so a
 *   reference with a digest does not match;
 *   ubuntu@sha256:…: that digest, whatever tag stands beside it. */
struct ty_image_pattern {
    bool all;
    bool below; /* `image.repository` is a prefix that ends in "/", or "" for a whole registry */
    struct ty_image image;
};

/* TY_INVALID when `text` is no pattern; *pattern_out untouched. */
ty_status ty_image_pattern_parse(const char *text,
                                 struct ty_image_pattern *pattern_out) TY_MUST_CHECK;

bool ty_image_matches(const struct ty_image_pattern *pattern, const struct ty_image *image);

#endif
