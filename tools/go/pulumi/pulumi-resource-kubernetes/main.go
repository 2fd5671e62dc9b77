// The Kubernetes provider of Pulumi. Its own main needs two files that its release generates and its module lacks; the
// schema is one of them, and the module does carry it elsewhere: tenancy/lab/gobuild.py copies it here before building.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
)

//go:embed schema.json
var schema []byte

// The commit that go.mod names is release v4.25.0, and a program that pins that release must find it here.
func main() { provider.Serve("kubernetes", "4.25.0", schema, nil) }
