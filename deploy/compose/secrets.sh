#!/bin/sh
# Makes what an installation keeps secret, and the authority that its parts know each other by:
#   secrets.sh FOLDER [HOST…]     HOST: names and addresses by which clients reach the endpoint
# WEBHOOKS="NAME…" are the endpoints of webhooks.yaml: their consumers are the user webhooks' at the broker.
# Needs openssl alone. What is there is kept, but for certificates that end within 30 days or are for other names.
# Each part has a folder of its own, and is shown no other. Everything is 0600; where root runs this, it is given
# to the user that reads it: 10001, and OWNER for what clients are given, else whoever has it already.
set -eu
umask 077
folder=${1:?usage: secrets.sh FOLDER [HOST…]}
shift
services="parser runner judge analyzer"
mkdir -p "$folder/authority"
cd "$folder"
owner=${OWNER:-$(stat -c %u:%g client 2>/dev/null || echo 10001:10001)}

secret() { # FILE: 32 random bytes, in letters and digits
  [ -s "$1" ] || { mkdir -p "$(dirname "$1")"; openssl rand -hex 32 | tr -d '\n' > "$1.new"; mv "$1.new" "$1"; }
}

ends_soon() { ! openssl x509 -checkend 2592000 -noout -in "$1" >/dev/null 2>&1; }

is_for() { # FILE SUBJECT ALTERNATIVE NAMES
  told=$(openssl x509 -noout -ext subjectAltName -in "$1" 2>/dev/null | tail -n 1)
  [ "$(echo "$told" | sed 's/IP Address/IP/g' | tr -d ' ')" = "$2" ]
}

authority() {
  ends_soon authority/ca.pem || return 0
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -keyout authority/ca.key \
    -subj "/CN=Firetrial $(openssl rand -hex 4)" -out authority/ca.pem \
    -addext "keyUsage=critical,keyCertSign,cRLSign" 2>/dev/null
  find . -name '*.pem' ! -path './authority/*' -delete # signed by another
}

from_elsewhere() { # FILE: what another authority signed, such as a public one
  [ -s "$1" ] && ! openssl verify -no_check_time -CAfile authority/ca.pem "$1" >/dev/null 2>&1
}

certificate() { # FILE without its ending, COMMON NAME, USES, SUBJECT ALTERNATIVE NAMES
  mkdir -p "$(dirname "$1")"
  cp authority/ca.pem "$(dirname "$1")/ca.pem"
  ! from_elsewhere "$1.pem" || return 0 # is for whoever put it there to renew
  ends_soon "$1.pem" || ! is_for "$1.pem" "$4" || return 0
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" -subj "/CN=$2" \
    -addext "subjectAltName=$4" -addext "extendedKeyUsage=$3" -addext "keyUsage=critical,digitalSignature" \
    -out request.pem 2>/dev/null
  openssl x509 -req -in request.pem -CA authority/ca.pem -CAkey authority/ca.key -days 825 \
    -copy_extensions copyall -out "$1.pem.new" 2>/dev/null
  mv "$1.pem.new" "$1.pem"
  rm request.pem
}

names() { # NAME…: as subject alternative names; what looks like an address is one
  for name; do
    case $name in
      *:*) printf ',IP:%s' "$name" ;;
      *[!0-9.]*) printf ',DNS:%s' "$name" ;;
      *) printf ',IP:%s' "$name" ;;
    esac
  done | cut -c2-
}

authority
for service in $services; do
  # For the key of the model that it asks, if it asks one: written there by whoever has it.
  mkdir -p "$service" && touch "$service/model-key"
  certificate "$service/tls" "$service" serverAuth,clientAuth "$(names "$service" localhost)"
  secret "$service/nats-password"
  secret "$service/s3-secret-key"
done
certificate nats/nats nats serverAuth,clientAuth "$(names nats nats-1 nats-2 nats-3 localhost 127.0.0.1)"
certificate objects/private objects serverAuth "$(names objects localhost 127.0.0.1)"
mkdir -p objects/certs # by the names that MinIO knows
cp objects/private.key objects/certs/private.key && cp objects/private.pem objects/certs/public.crt
certificate envoy/endpoint endpoint serverAuth "$(names envoy localhost 127.0.0.1 "$@")"
certificate envoy/envoy envoy clientAuth "$(names envoy)"
for user in operator watcher webhooks; do secret "$user/nats-password"; cp authority/ca.pem "$user/ca.pem"; done
secret system/nats-password
secret operator/s3-secret-key
secret objects/root-password
secret grafana/admin-password
# For the addresses that alerts go to: written there by whoever has them. What is empty fails when it is used.
mkdir -p alertmanager
for channel in page ticket watchdog; do touch "alertmanager/alerts_${channel}_url"; done
# What makes users, buckets and streams knows the secrets of all, for as long as that takes.
mkdir -p setup
cp authority/ca.pem setup/ca.pem
cp operator/nats-password setup/nats-password
cp objects/root-password setup/root-password
for service in $services operator; do cp "$service/s3-secret-key" "setup/$service-s3-secret-key"; done
# What nats.conf lets the user webhooks do. Never an empty list, which NATS takes for no limit at all.
webhooks_may() { # ENDPOINT…
  printf 'WEBHOOKS_MAY: [\n'
  for stream in FT_EVT FT_WORK FT_DEAD; do printf '  "$JS.API.STREAM.INFO.%s"\n' "$stream"; done
  for endpoint; do
    printf '  "$JS.%s.webhook-%s%s"\n' API.CONSUMER.CREATE.FT_EVT "$endpoint" "" \
      API.CONSUMER.CREATE.FT_EVT "$endpoint" ".>" API.CONSUMER.MSG.NEXT.FT_EVT "$endpoint" "" \
      ACK.FT_EVT "$endpoint" ".>"
    printf '  "ft.dead.webhook-%s"\n' "$endpoint"
  done
  printf ']\n'
}

for endpoint in ${WEBHOOKS:-}; do
  case $endpoint in
    *[!a-z0-9-]*) echo "WEBHOOKS: $endpoint is no name of an endpoint (a-z, 0-9, -)" >&2; exit 2 ;;
  esac
done
{
  for user in $services operator watcher webhooks system; do
    printf '%s_PASSWORD: "%s"\n' "$(echo "$user" | tr a-z A-Z)" "$(cat "$user/nats-password")"
  done
  webhooks_may ${WEBHOOKS:-}
} > nats/passwords.conf

# Who may call: one token to begin with. Services know it by its hash alone; `firetrial admin` makes more.
if [ ! -s client/token ]; then
  mkdir -p client
  printf 'ftk_%s' "$(openssl rand -base64 32 | tr '+/' '-_' | tr -d '=\n')" > client/token
fi
cp authority/ca.pem client/ca.pem
cp client/token operator/token # for firetrial doctor, which asks the endpoint as well
hash=$(openssl dgst -sha256 -r client/token | cut -d' ' -f1)
for service in $services; do
  mkdir -p "$service"
  [ -s "$service/tokens.yaml" ] && continue
  {
    printf 'tokens:\n  - {name: first, tenant: local, scopes: [submit, read, operate], sha256: %s}\n' "$hash"
    printf 'certificates:\n'
    for caller in parser judge; do
      printf '  - {name: %s, subject: %s, tenant: local, scopes: [service]}\n' "$caller" "$caller"
    done
  } > "$service/tokens.yaml"
done

if [ "$(id -u)" = 0 ]; then
  for part in $services nats objects envoy operator watcher webhooks setup; do chown -R 10001:10001 "$part"; done
  chown -R 472 grafana # whom the images of these run as
  chown -R 65534 alertmanager
  chown -R "$owner" client
  chmod 711 .
fi
