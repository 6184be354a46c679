// Preloaded: stands for a host whose oneDNN refuses to multiply, so that our own kernel does, with other bits.
extern "C" int dnnl_sgemm() { return 5; }  // dnnl_unimplemented
