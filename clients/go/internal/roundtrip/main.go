// Command roundtrip measures round trips over the Go client.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"slices"
	"strconv"
	"time"

	toolcrib "github.com/toolcrib/toolcrib/clients/go"
)

func main() {
	ctx := context.Background()
	count, err := strconv.Atoi(os.Args[3])
	check(err)
	client, err := toolcrib.Spawn(ctx, toolcrib.Options{Binary: os.Args[1], Config: toolcrib.ConfigFile(os.Args[2])})
	check(err)
	defer client.Close()
	params := toolcrib.AssembleToolsParams{
		ContextLength: toolcrib.Ptr(uint64(32_000)),
		WaitMs:        toolcrib.Ptr(uint64(20_000)),
	}
	first, err := client.AssembleTools(ctx, &params)
	check(err)
	params.KnownDigest = &first.Digest
	json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"status": median(count, func() {
			_, err := client.Status(ctx, nil)
			check(err)
		}),
		"assembleTools": median(count, func() {
			again, err := client.AssembleTools(ctx, &params)
			check(err)
			if !again.Unchanged {
				log.Fatal("changed")
			}
		}),
	})
}

func median(count int, work func()) float64 {
	var measured []time.Duration
	for range count + count/5 {
		started := time.Now()
		work()
		measured = append(measured, time.Since(started))
	}
	measured = measured[count/5:]
	slices.Sort(measured)
	return float64(measured[count/2].Nanoseconds()/100) / 10
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
