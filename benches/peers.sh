#!/usr/bin/env bash
# Speed beside the peers that are installed, on the same files in the same run: median of 5, page cache
# warm. Makes its data once (2.5 GB in ${BENCH_DIR:-/tmp/shadowcap-bench}). Run it alone on the machine.
#   wc -l          what reading costs at least
#   DuckDB         one calendar minute per address, by two short regular expressions, and by one that takes
#                  the whole line apart (python3 with duckdb)
#   polars         the same (python3 with polars)
#   awk            one calendar minute per address
#   pigz -dc       what decompressing costs
set -euo pipefail
cd "$(dirname "$0")/.."

dir=${BENCH_DIR:-/tmp/shadowcap-bench}
python=${BENCH_PYTHON:-python3}
runs=${BENCH_RUNS:-5}
lines=${BENCH_LINES:-5000000}
mkdir -p "$dir"
cargo build --release --locked
program=${CARGO_TARGET_DIR:-target}/release/shadowcap

# nginx combined: a day, 200,000 addresses of which few are busy, 8 kinds of paths
make_nginx() {
  awk -v n="$lines" 'BEGIN {
    seed = 7
    for (i = 0; i < n; i++) {
      seed = (seed * 16807) % 2147483647; a = int((seed / 2147483647) ^ 3 * 200000)
      seed = (seed * 16807) % 2147483647; r = seed
      s = int(i * 86400 / n)
      path = (r % 8 == 0) ? "/menu/" r % 2000003 : (r % 8 == 1) ? "/v1/orders/" r % 1000003 "/items" : \
        (r % 8 == 2) ? "/static/css/app." r % 100003 ".css" : (r % 8 == 3) ? "/search?q=" r : \
        (r % 8 == 4) ? "/" : (r % 8 == 5) ? "/v1/cart" : (r % 8 == 6) ? "/restaurants/pune/" r % 300007 : "/v1/otp/" r
      printf "%d.%d.%d.%d - - [24/Nov/2026:%02d:%02d:%02d +0000] \"GET %s HTTP/1.1\" %d %d \"https://shop.example/\" \"Mozilla/5.0 (Linux; Android 13; SM-A%d) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/11%d.0.0.0 Mobile Safari/537.36\"\n", \
        11 + a % 200, int(a / 200) % 250, int(a / 50000), 1 + a % 253, s / 3600, s / 60 % 60, s % 60, path, (i % 20) ? 200 : 404, 200 + r % 50000, 100 + r % 900, r % 10
    }
  }' > "$dir/nginx.log.part"
  mv "$dir/nginx.log.part" "$dir/nginx.log"
}

make_alb() {
  awk -v n="$((lines * 2 / 5))" 'BEGIN {
    seed = 9
    for (i = 0; i < n; i++) {
      seed = (seed * 16807) % 2147483647; a = int((seed / 2147483647) ^ 3 * 200000); r = seed
      s = int(i * 86400 / n)
      t = sprintf("2026-11-24T%02d:%02d:%02d", s / 3600, s / 60 % 60, s % 60)
      printf "https %s.%06dZ app/shop/0123456789abcdef %d.%d.%d.%d:%d 10.0.%d.%d:8080 0.001 0.0%d 0.000 200 200 %d %d \"GET https://www.example.com:443/v1/menu/%d?city=pune HTTP/2.0\" \"Mozilla/5.0 (Linux; Android 13; SM-A%d) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/118.0.0.0 Mobile Safari/537.36\" TLS_AES_128_GCM_SHA256 TLSv1.3 arn:aws:elasticloadbalancing:ap-south-1:123456789012:targetgroup/shop/0123456789abcdef \"Root=1-%08x-%012x%012x\" \"www.example.com\" \"session-reused\" 1 %s.%06dZ \"forward\" \"-\" \"-\" \"10.0.%d.%d:8080\" \"200\" \"-\" \"-\" TID_0123456789abcdef0123456789abcdef\n", \
        t, 500000 + r % 400000, 11 + a % 200, int(a / 200) % 250, int(a / 50000), 1 + a % 253, 1024 + r % 60000, r % 4, r % 200, 10 + r % 89, 300 + r % 900, 500 + r % 60000, r % 100003, 100 + r % 900, r, r, a, t, 100000 + r % 400000, r % 4, r % 200
    }
  }' > "$dir/alb.log.part"
  mv "$dir/alb.log.part" "$dir/alb.log"
}

[ -f "$dir/nginx.log" ] || make_nginx
[ -f "$dir/alb.log" ] || make_alb
[ -f "$dir/nginx.log.gz" ] || gzip -1 -k -c "$dir/nginx.log" > "$dir/nginx.log.gz"

# median seconds of a command
median() {
  local i start
  for ((i = 0; i < runs; i++)); do
    start=$(date +%s.%N)
    "$@" > /dev/null 2>&1
    echo "$(date +%s.%N) - $start" | bc
  done | sort -n | sed -n "$(((runs + 1) / 2))p"
}

report() { # name, seconds, base seconds
  printf '  %-28s %7.2f s  %6.2f x\n' "$1" "$2" "$(echo "scale=4; $2 / $3" | bc)"
}

minute='regexp_extract(line, '"'"'^(\S+)'"'"', 1) AS ip, regexp_extract(line, '"'"'\[([^\]]{17})'"'"', 1) AS minute'
duckdb() {
  "$python" -c "
import duckdb
duckdb.sql('''SELECT max(n) FROM (SELECT count(*) n FROM (SELECT $minute FROM read_csv('$1',
  columns={'line':'VARCHAR'}, delim=chr(1), quote='', escape='', header=false, auto_detect=false)) GROUP BY ip, minute)''').fetchall()"
}
whole='regexp_extract(line, '"'"'^(\S+) \S+ (\S+) \[([^\]]+)\] "(\S+) (\S+) ([^"]+)" (\d+) (\d+) "([^"]*)" "([^"]*)"'"'"',
  ['"'ip','user','time','method','path','protocol','status','bytes','referer','agent'"'])'
duckdb_whole() {
  "$python" -c "
import duckdb
duckdb.sql(r'''SELECT max(n) FROM (SELECT count(*) n FROM (SELECT $whole AS parts FROM read_csv('$1',
  columns={'line':'VARCHAR'}, delim=chr(1), quote='', escape='', header=false, auto_detect=false))
  GROUP BY parts.ip, substr(parts.time, 1, 17))''').fetchall()"
}
polars() {
  "$python" -c "
import polars as pl
lines = pl.scan_csv('$1', separator='\x01', has_header=False, new_columns=['line'], quote_char=None)
parts = lines.select(pl.col('line').str.extract(r'^(\S+)').alias('ip'), pl.col('line').str.extract(r'\[([^\]]{17})').alias('minute'))
parts.group_by('ip', 'minute').len().select(pl.col('len').max()).collect()"
}
awk_minute() { awk '{ c[$1 substr($4, 2, 17)]++ } END { for (k in c) if (c[k] > m) m = c[k]; print m }' "$1"; }

policies=()
for policy in engine/benches/policies/*.toml; do policies+=(--policy "$policy"); done

for log in nginx alb; do
  file=$dir/$log.log
  cat "$file" > /dev/null
  echo "$log: $(stat -c %s "$file") bytes"
  base=$(median wc -l "$file")
  report "wc -l" "$base" "$base"
  own=$(median "$program" analyze "$file" --quiet --json /dev/null)
  report "shadowcap analyze" "$own" "$base"
  with=$(median "$program" analyze "$file" "${policies[@]}" --quiet --json /dev/null)
  report "with ten policies" "$with" "$base"
  echo "bench ten-policies-vs-analyze $(echo "scale=2; ($with - $own) / $own" | bc)"
  /usr/bin/env time -f '  memory, with ten policies    %M KiB' "$program" analyze "$file" "${policies[@]}" --quiet --json /dev/null 2>&1 | tail -1 || true
  /usr/bin/env time -f '  memory                       %M KiB' "$program" analyze "$file" --quiet --json /dev/null 2>&1 | tail -1 || true
  if [ "$log" = nginx ]; then
    if "$python" -c 'import duckdb' 2> /dev/null; then 
      report "DuckDB, one minute" "$(median duckdb "$file")" "$base"
      report "DuckDB, whole line" "$(median duckdb_whole "$file")" "$base"
    fi
    if "$python" -c 'import polars' 2> /dev/null; then report "polars, one minute" "$(median polars "$file")" "$base"; fi
    if [ "${BENCH_AWK:-}" ]; then report "awk, one minute" "$(median awk_minute "$file")" "$base"; fi
  fi
done
if command -v pigz > /dev/null; then
  echo "nginx, gzip:"
  base=$(median pigz -dc "$dir/nginx.log.gz")
  report "pigz -dc" "$base" "$base"
  report "shadowcap analyze" "$(median "$program" analyze "$dir/nginx.log.gz" --quiet --json /dev/null)" "$base"
fi
