// Package toolcrib is the host side of toolcrib: more MCP tools than a model can bear, behind three.
//
//	client, err := toolcrib.Spawn(ctx, toolcrib.Options{Config: toolcrib.ConfigFile("toolcrib.yaml")})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	assembly, err := client.AssembleTools(ctx, &toolcrib.AssembleToolsParams{ContextLength: toolcrib.Ptr(uint64(200_000))})
//
// Every method takes a context; when it ends, the call is cancelled here and in the sidecar.
// All methods may be called by many goroutines at once.
package toolcrib
