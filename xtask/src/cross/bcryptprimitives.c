/* The function of Windows' bcryptprimitives.dll that Rust's standard library calls and Wine 8 lacks. Only for tests. */
#include <windows.h>

#define RtlGenRandom SystemFunction036
BOOLEAN NTAPI RtlGenRandom(PVOID, ULONG);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T len)
{
    while (len > 0) {
        ULONG part = len > 0x1000000 ? 0x1000000 : (ULONG)len;
        if (!RtlGenRandom(data, part)) return FALSE;
        data += part;
        len -= part;
    }
    return TRUE;
}
