// Manycheck reads a Compose file, and manifests of Kubernetes, into the types of their
// specifications, and says every word that is unknown there. It is a module of its own, so
// that Forge needs none of this.
//
//	manycheck compose.yaml kubernetes.yaml
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := compose(os.Args[1]); err != nil {
		fmt.Println("compose:", err)
		os.Exit(1)
	}
	if err := kubernetes(os.Args[2]); err != nil {
		fmt.Println("kubernetes:", err)
		os.Exit(1)
	}
}

func compose(file string) error {
	p, err := loader.LoadWithContext(context.Background(), types.ConfigDetails{
		WorkingDir:  ".",
		ConfigFiles: []types.ConfigFile{{Filename: file}},
		Environment: types.Mapping{"POSTGRES_PASSWORD": "p", "PROJECT_URL": "https://git.example.com/shop.git", "ANTHROPIC_API_KEY": "k"},
	})
	if err != nil {
		return err
	}
	for _, name := range p.ServiceNames() {
		fmt.Println("service", name)
	}
	return nil
}

func kubernetes(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, doc := range bytes.Split(text, []byte("\n---\n")) {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(doc, &head); err != nil {
			return err
		}
		var into any
		switch head.APIVersion + " " + head.Kind {
		case "v1 Namespace":
			into = &corev1.Namespace{}
		case "v1 Secret":
			into = &corev1.Secret{}
		case "v1 ConfigMap":
			into = &corev1.ConfigMap{}
		case "v1 Service":
			into = &corev1.Service{}
		case "batch/v1 Job":
			into = &batchv1.Job{}
		case "apps/v1 StatefulSet":
			into = &appsv1.StatefulSet{}
		default:
			return fmt.Errorf("%s %s is not known here", head.APIVersion, head.Kind)
		}
		if err := yaml.UnmarshalStrict(doc, into); err != nil {
			return fmt.Errorf("%s: %w", head.Kind, err)
		}
		fmt.Println(head.Kind)
	}
	return nil
}
