/* SPDX-License-Identifier: MIT
 *
 * What we call of blosc, zlib, zstd and lz4.
 *
 * With ZC_SYSTEM_LIBS the libraries' own headers are used.  Without it only blosc.h is there (the archive
 * that the PyPI package blosc brings holds all four libraries but ships that one header), and the rest is
 * declared here: calls and numbers that the libraries document as stable, nothing else.  zlib itself
 * compares the layout of z_stream by its size (inflateInit2_, deflateInit2_).
 *
 * Compiled with both ZC_SYSTEM_LIBS and ZC_CHECK_ABI, the declarations below meet the real ones and the
 * compiler reports any difference.
 */
#pragma once

#include <stddef.h>

#include <blosc.h>

#ifdef ZC_SYSTEM_LIBS

#include <lz4.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#else

/* zlib, zlib.h of 1.2.8 and later */
typedef struct z_stream_s {
    const unsigned char *next_in;
    unsigned int avail_in;
    unsigned long total_in;
    unsigned char *next_out;
    unsigned int avail_out;
    unsigned long total_out;
    const char *msg;
    struct internal_state *state;
    void *(*zalloc)(void *opaque, unsigned int items, unsigned int size);
    void (*zfree)(void *opaque, void *address);
    void *opaque;
    int data_type;
    unsigned long adler;
    unsigned long reserved;
} z_stream;

#define ZLIB_VERSION "1.2.8"             /* zlib compares the first digit */

enum { Z_NO_FLUSH = 0, Z_FINISH = 4 };
enum { Z_OK = 0, Z_STREAM_END = 1, Z_NEED_DICT = 2, Z_DATA_ERROR = -3, Z_MEM_ERROR = -4, Z_BUF_ERROR = -5 };
enum { Z_DEFAULT_COMPRESSION = -1, Z_DEFAULT_STRATEGY = 0, Z_DEFLATED = 8 };

/* zstd, zstd.h and zstd_errors.h of 1.4.0 and later */
typedef struct ZSTD_CCtx_s ZSTD_CCtx;
typedef struct ZSTD_DCtx_s ZSTD_DCtx;

typedef enum { ZSTD_c_compressionLevel = 100, ZSTD_c_checksumFlag = 201 } ZSTD_cParameter;
typedef enum { ZSTD_reset_session_only = 1, ZSTD_reset_session_and_parameters = 3 } ZSTD_ResetDirective;
typedef enum { ZSTD_e_continue = 0, ZSTD_e_flush = 1, ZSTD_e_end = 2 } ZSTD_EndDirective;

typedef enum {
    ZSTD_error_checksum_wrong = 22,
    ZSTD_error_memory_allocation = 64,
    ZSTD_error_dstSize_tooSmall = 70,
    ZSTD_error_srcSize_wrong = 72
} ZSTD_ErrorCode;

typedef struct ZSTD_inBuffer_s {
    const void *src;
    size_t size;
    size_t pos;
} ZSTD_inBuffer;

typedef struct ZSTD_outBuffer_s {
    void *dst;
    size_t size;
    size_t pos;
} ZSTD_outBuffer;

#endif

#if !defined(ZC_SYSTEM_LIBS) || defined(ZC_CHECK_ABI)

#ifdef __cplusplus
extern "C" {
#endif

const char *zlibVersion(void);
int inflateInit2_(z_stream *strm, int windowBits, const char *version, int stream_size);
int inflateReset2(z_stream *strm, int windowBits);
int inflate(z_stream *strm, int flush);
int inflateEnd(z_stream *strm);
int deflateInit2_(z_stream *strm, int level, int method, int windowBits, int memLevel, int strategy,
                  const char *version, int stream_size);
int deflateReset(z_stream *strm);
int deflate(z_stream *strm, int flush);
int deflateEnd(z_stream *strm);
unsigned long adler32(unsigned long adler, const unsigned char *buf, unsigned int len);
unsigned long crc32(unsigned long crc, const unsigned char *buf, unsigned int len);

const char *ZSTD_versionString(void);
unsigned ZSTD_versionNumber(void);
unsigned ZSTD_isError(size_t code);
const char *ZSTD_getErrorName(size_t code);
ZSTD_ErrorCode ZSTD_getErrorCode(size_t functionResult);
int ZSTD_minCLevel(void);
int ZSTD_maxCLevel(void);
size_t ZSTD_compressBound(size_t srcSize);
ZSTD_CCtx *ZSTD_createCCtx(void);
size_t ZSTD_freeCCtx(ZSTD_CCtx *cctx);
size_t ZSTD_sizeof_CCtx(const ZSTD_CCtx *cctx);
size_t ZSTD_CCtx_reset(ZSTD_CCtx *cctx, ZSTD_ResetDirective reset);
size_t ZSTD_CCtx_setParameter(ZSTD_CCtx *cctx, ZSTD_cParameter param, int value);
size_t ZSTD_CCtx_setPledgedSrcSize(ZSTD_CCtx *cctx, unsigned long long pledgedSrcSize);
size_t ZSTD_compress2(ZSTD_CCtx *cctx, void *dst, size_t dstCapacity, const void *src, size_t srcSize);
size_t ZSTD_compressStream2(ZSTD_CCtx *cctx, ZSTD_outBuffer *output, ZSTD_inBuffer *input,
                            ZSTD_EndDirective endOp);
ZSTD_DCtx *ZSTD_createDCtx(void);
size_t ZSTD_freeDCtx(ZSTD_DCtx *dctx);
size_t ZSTD_DCtx_reset(ZSTD_DCtx *dctx, ZSTD_ResetDirective reset);
unsigned long long ZSTD_getFrameContentSize(const void *src, size_t srcSize);
size_t ZSTD_findFrameCompressedSize(const void *src, size_t srcSize);
size_t ZSTD_decompressDCtx(ZSTD_DCtx *dctx, void *dst, size_t dstCapacity, const void *src, size_t srcSize);
size_t ZSTD_decompressStream(ZSTD_DCtx *zds, ZSTD_outBuffer *output, ZSTD_inBuffer *input);

const char *LZ4_versionString(void);
int LZ4_compressBound(int inputSize);
int LZ4_compress_fast(const char *src, char *dst, int srcSize, int dstCapacity, int acceleration);
int LZ4_decompress_safe(const char *src, char *dst, int compressedSize, int dstCapacity);

#ifdef __cplusplus
}
#endif

_Static_assert(Z_NO_FLUSH == 0 && Z_FINISH == 4 && Z_OK == 0 && Z_STREAM_END == 1 && Z_NEED_DICT == 2 &&
               Z_DATA_ERROR == -3 && Z_MEM_ERROR == -4 && Z_BUF_ERROR == -5 && Z_DEFAULT_COMPRESSION == -1 &&
               Z_DEFAULT_STRATEGY == 0 && Z_DEFLATED == 8, "zlib has other numbers");
_Static_assert(ZSTD_c_compressionLevel == 100 && ZSTD_c_checksumFlag == 201 && ZSTD_reset_session_only == 1 &&
               ZSTD_reset_session_and_parameters == 3 && ZSTD_e_continue == 0 && ZSTD_e_flush == 1 &&
               ZSTD_e_end == 2, "zstd has other numbers");
_Static_assert((int)ZSTD_error_checksum_wrong == 22 && (int)ZSTD_error_memory_allocation == 64 &&
               (int)ZSTD_error_dstSize_tooSmall == 70 && (int)ZSTD_error_srcSize_wrong == 72,
               "zstd has other error codes");

#endif
