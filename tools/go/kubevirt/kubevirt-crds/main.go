// kubevirt-crds prints KubeVirt's CustomResourceDefinitions as a JSON list. KubeVirt has them in code alone: its operator
// installs itself with its own kind, and the rest from there.
package main

import (
	"encoding/json"
	"log"
	"os"

	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/install"
	"kubevirt.io/kubevirt/pkg/virt-operator/util"
)

func main() {
	own, err := components.NewKubeVirtCrd()
	if err != nil {
		log.Fatal(err)
	}
	strategy, err := install.GenerateCurrentInstallStrategy(&util.KubeVirtDeploymentConfig{Namespace: "kubevirt"}, "", "kubevirt")
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(append(strategy.CRDs(), own)); err != nil {
		log.Fatal(err)
	}
}
