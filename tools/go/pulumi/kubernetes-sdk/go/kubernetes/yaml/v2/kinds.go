// Package v2 stands in for one file of Pulumi's Go SDK for Kubernetes when the provider is built. The provider needs one
// function of it. There, that function is a switch over every kind of Kubernetes, which pulls the whole SDK in: 26 MB of
// source, a quarter of all that the provider compiles, for objects of which the provider never reads a field. This one
// makes the same type tokens. go.mod has this folder in place of the SDK; what else the provider takes of the SDK is
// copied here from the Go module cache before a build (tenancy/lab/tools.py, `sources`).
package v2

import "github.com/pulumi/pulumi/sdk/v3/go/pulumi"

// The kinds of the core group: their apiVersion is "v1", their type is in "core/v1".
var core = map[string]bool{
	"Binding": true, "ConfigMap": true, "Endpoints": true, "Event": true, "LimitRange": true, "Namespace": true,
	"Node": true, "PersistentVolume": true, "PersistentVolumeClaim": true, "Pod": true, "PodTemplate": true,
	"ReplicationController": true, "ResourceQuota": true, "Secret": true, "Service": true, "ServiceAccount": true,
}

// RegisterResource registers one object of a manifest as the resource of its kind.
func RegisterResource(ctx *pulumi.Context, apiVersion, kind, name string, props pulumi.Input,
	opts ...pulumi.ResourceOption) (pulumi.CustomResource, error) {
	if apiVersion == "v1" && core[kind] {
		apiVersion = "core/v1"
	}
	var res pulumi.CustomResourceState
	if err := ctx.RegisterResource("kubernetes:"+apiVersion+":"+kind, name, props, &res, opts...); err != nil {
		return nil, err
	}
	return &res, nil
}
