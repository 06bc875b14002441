//! What is exported and has no body: a call answers `HSA_STATUS_ERROR`, and says its name once where `ROCM_SOFT_LOG` asks for
//! it. Images, memory of other processes, counters, and what AMD's HIP runtimes do not use.

use std::sync::atomic::AtomicU64;

use super::bodiless;

/// Where debuggers look for loaded code objects, a `struct r_debug` of `link.h`: of no version, and of no code object.
#[unsafe(no_mangle)]
pub(crate) static _amdgpu_r_debug: [AtomicU64; 5] = [const { AtomicU64::new(0) }; 5];

bodiless! {
    hsa_agent_get_exception_policies hsa_agent_major_extension_supported hsa_amd_ais_file_read
    hsa_amd_ais_file_write hsa_amd_deregister_deallocation_callback hsa_amd_image_create
    hsa_amd_image_get_info_max_dim hsa_amd_interop_map_buffer hsa_amd_interop_unmap_buffer
    hsa_amd_ipc_memory_attach hsa_amd_ipc_memory_create hsa_amd_ipc_memory_detach hsa_amd_ipc_signal_attach
    hsa_amd_ipc_signal_create hsa_amd_memory_migrate hsa_amd_portable_close_dmabuf
    hsa_amd_portable_export_dmabuf hsa_amd_portable_export_dmabuf_v2 hsa_amd_queue_cu_get_mask hsa_amd_register_deallocation_callback
    hsa_amd_signal_wait_all hsa_amd_spm_acquire hsa_amd_spm_release hsa_amd_spm_set_dest_buffer
    hsa_amd_svm_attributes_get hsa_amd_svm_prefetch_async
    hsa_amd_vmem_export_shareable_handle
    hsa_amd_vmem_import_shareable_handle
    hsa_cache_get_info hsa_code_object_deserialize
    hsa_code_object_destroy hsa_code_object_get_info hsa_code_object_get_symbol
    hsa_code_object_get_symbol_from_name hsa_code_object_iterate_symbols hsa_code_object_reader_create_from_file
    hsa_code_object_serialize hsa_code_symbol_get_info hsa_executable_create hsa_executable_get_info
    hsa_executable_get_symbol hsa_executable_global_variable_define hsa_executable_iterate_agent_symbols
    hsa_executable_iterate_program_symbols hsa_executable_load_code_object
    hsa_executable_load_program_code_object hsa_executable_readonly_variable_define hsa_executable_validate_alt
    hsa_ext_image_clear hsa_ext_image_copy hsa_ext_image_create hsa_ext_image_create_with_layout
    hsa_ext_image_data_get_info hsa_ext_image_data_get_info_with_layout hsa_ext_image_destroy
    hsa_ext_image_export hsa_ext_image_get_capability hsa_ext_image_get_capability_with_layout
    hsa_ext_image_import hsa_ext_program_add_module hsa_ext_program_create hsa_ext_program_destroy
    hsa_ext_program_finalize hsa_ext_program_get_info hsa_ext_program_iterate_modules hsa_ext_sampler_create
    hsa_ext_sampler_create_v2 hsa_ext_sampler_destroy hsa_extension_get_name hsa_isa_compatible
    hsa_isa_get_exception_policies hsa_isa_get_info hsa_isa_get_round_method hsa_isa_iterate_wavefronts
    hsa_memory_allocate hsa_memory_assign_agent hsa_queue_store_read_index_relaxed
    hsa_queue_store_read_index_release hsa_queue_store_read_index_screlease hsa_region_get_info
    hsa_signal_group_create hsa_signal_group_destroy hsa_signal_group_wait_any_relaxed
    hsa_signal_group_wait_any_scacquire hsa_soft_queue_create hsa_ven_amd_pcs_create
    hsa_ven_amd_pcs_create_from_id hsa_ven_amd_pcs_destroy hsa_ven_amd_pcs_flush
    hsa_ven_amd_pcs_iterate_configuration hsa_ven_amd_pcs_start hsa_ven_amd_pcs_stop hsa_wavefront_get_info
}
