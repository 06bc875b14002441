//! What is exported and not offered: memory of other processes, images, arrays, textures, virtual memory handles.

use super::bodiless;

bodiless! {
    hipArray3DCreate hipArrayCreate hipArrayDestroy hipBindTexture hipBindTexture2D hipBindTextureToArray
    hipCreateSurfaceObject hipCreateTextureObject hipDestroySurfaceObject hipDestroyTextureObject
    hipFreeArray hipImportExternalMemory hipIpcCloseMemHandle hipIpcGetEventHandle hipIpcGetMemHandle hipIpcOpenEventHandle
    hipIpcOpenMemHandle hipLaunchCooperativeKernelMultiDevice hipMalloc3DArray hipMallocArray hipMemAddressFree
    hipMemAddressReserve hipMemCreate hipMemGetAllocationGranularity hipMemMap hipMemRelease hipMemSetAccess hipMemUnmap
    hipMemcpy2DFromArray hipMemcpy2DToArray hipMemcpyFromArray hipMemcpyToArray hipModuleGetTexRef hipTexObjectCreate
    hipTexObjectDestroy hipUnbindTexture
}
