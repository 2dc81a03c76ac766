#!/bin/sh
# Prints the Secrets that the manifests name, from a folder as deploy/compose/secrets.sh makes it:
#   sh deploy/compose/secrets.sh FOLDER endpoint.example.org
#   sh deploy/kubernetes/secrets.sh FOLDER | kubectl apply --server-side -f -
# Each part has its own and is shown no other. Where secrets come from a store (External Secrets, Vault), it makes
# the same names with the same keys instead.
set -eu
folder=${1:?usage: secrets.sh FOLDER}

secret() { # NAMESPACE PART KEY…: of the files of one part; those that are not there have no key
  namespace=$1 part=$2
  shift 2
  [ -d "$folder/$part" ] || { echo "there is no $folder/$part: deploy/compose/secrets.sh makes it" >&2; exit 1; }
  printf -- '---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: firetrial-%s\n  namespace: %s\ntype: Opaque\ndata:\n' \
    "$part" "$namespace"
  for key; do
    [ ! -f "$folder/$part/$key" ] || printf '  %s: "%s"\n' "$key" "$(base64 "$folder/$part/$key" | tr -d '\n')"
  done
}

known="ca.pem tls.pem tls.key tokens.yaml nats-password s3-secret-key model-key"
for service in parser runner judge analyzer; do secret firetrial $service $known; done
# A runner that takes work answers no calls: it is shown neither tokens nor a key to be known by.
secret firetrial-runners runner ca.pem nats-password s3-secret-key model-key
secret firetrial envoy ca.pem endpoint.pem endpoint.key envoy.pem envoy.key
secret firetrial nats ca.pem nats.pem nats.key passwords.conf
secret firetrial objects root-password private.pem private.key
secret firetrial setup ca.pem nats-password root-password parser-s3-secret-key runner-s3-secret-key \
  judge-s3-secret-key analyzer-s3-secret-key operator-s3-secret-key
secret firetrial operator ca.pem nats-password s3-secret-key token
