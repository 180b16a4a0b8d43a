import type { Incident } from './incident.ts'

/**
 * Other teams beside the incident: a consumer of Kafka, one with calls in doubt, one that is paused, an outbox
 * without a relay, and a loss. Written as rows, because no broker is needed to look at them.
 */
export async function addOtherTeams({ pool }: Pick<Incident, 'pool'>): Promise<void> {
  await pool.query(consumers)
  await pool.query(heldMessages)
  await pool.query(effects)
  await pool.query(positions)
  await pool.query(outbox)
  await pool.query(lastHour)
}

/** Their processes beat again; without it they are silent after half a minute. */
export async function beat({ pool }: Pick<Incident, 'pool'>): Promise<void> {
  await pool.query(`
    update onceward.run set heartbeat_at = clock_timestamp(), lag_at = clock_timestamp(),
      lag = case c.name when 'payment_capture' then '{"payment.capture.requested": 42}'::jsonb
        when 'parcel_tracking' then '{"parcel.scanned.v2/0": 310, "parcel.scanned.v2/3": 95}' else '{"order.shipped": 96}' end
    from onceward.consumer c
    where c.id = consumer_id and c.name in ('payment_capture', 'parcel_tracking', 'order_mail')`)
}

const consumers = `
  insert into onceward.consumer (name, generation, owner, risk) values
    ('payment_capture', 1, 'payments', 'money'), ('parcel_tracking', 2, 'logistics', 'projection'),
    ('order_mail', 1, 'customer-care', 'notification'), ('stock_levels', 1, 'warehouse', 'projection');
  insert into onceward.run (consumer_id, instance, handler_version, mode, heartbeat_at)
    select id, name || '-' || n, '1.4.2', 'live', case when name = 'stock_levels' then clock_timestamp() - interval '26 minutes'
      else clock_timestamp() end
    from onceward.consumer, generate_series(1, 2) n where name <> 'invoice_booking';
  update onceward.run set paused_reason = 'the circuit breaker of mail-gateway is open', paused_since = clock_timestamp() - interval '4 minutes'
    where consumer_id = (select id from onceward.consumer where name = 'order_mail');
  insert into onceward.reader (consumer_name, kind, source, consumer_group, position_kept_by) values
    ('payment_capture', 'rabbitmq', 'payment.capture.requested', '', 'broker'),
    ('parcel_tracking', 'kafka', 'parcel.scanned.v2', 'parcel-tracking', 'store'),
    ('order_mail', 'rabbitmq', 'order.shipped', '', 'broker'),
    ('stock_levels', 'kafka', 'stock.moved', 'stock-levels', 'store')`

const heldMessages = `
  insert into onceward.held (consumer_id, run_id, state, message_id, digest, first_at, reason, failure_class, code,
    attempts, order_key, business_key, message_type, origin, delivery_count, headers, properties, body)
  select c.id, r.id, s.state::onceward.held_state, s.code || '-' || n, sha256((s.code || n)::bytea),
    clock_timestamp() - n * s.every::interval, s.reason, s.class, s.code, s.attempts, s.key || n, s.code || n, s.type,
    s.origin, 1, '{"content-type":"application/json"}', '{}', convert_to(format('{"id":"%s-%s","amount":%s}', s.code, n, n), 'UTF8')
  from (values
    ('payment_capture', 'parked', 'merchant_unknown', 'merchant 4711 is not known yet', 'permanent', 5, 'merchant-', 'CaptureRequested', 'payment.capture.requested', 128, '41 seconds'),
    ('payment_capture', 'quarantined', 'conflict', 'the same id arrived with other content', 'conflict', 1, 'capture-', 'CaptureRequested', 'payment.capture.requested', 2, '9 minutes'),
    ('parcel_tracking', 'dead', 'schema_mismatch', 'field "weightGrams" must be a number', 'permanent', 3, 'parcel-', 'ParcelScanned', 'parcel.scanned.v2', 17, '2 hours')
  ) s (consumer, state, code, reason, class, attempts, key, type, origin, count, every)
  join onceward.consumer c on c.name = s.consumer
  join lateral (select min(id) as id from onceward.run where consumer_id = c.id) r on true
  cross join lateral generate_series(1, s.count) n`

const effects = `
  insert into onceward.ledger (consumer_name, target, effect_key, state, attempts, due_at, created_at, last_attempt_at,
    doubt_since, run_id, message_id, request_digest, content_type, body, response_status, last_error)
  select 'payment_capture', 'card-gateway', 'capture-' || n, s.state::onceward.effect_state, s.attempts, s.due::timestamptz,
    clock_timestamp() - interval '3 hours' - n * interval '7 seconds', clock_timestamp() - n * interval '11 minutes',
    case when s.state = 'unknown' then clock_timestamp() - n * interval '11 minutes' end, r.id, 'msg-' || n, sha256(n::text::bytea),
    'application/json', '\\x7b7d', s.status, s.error
  from (values ('completed', 1, 412, 'now', 200, null), ('unknown', 1, 3, 'infinity', null, 'no answer within 2 s'),
    ('pending', 0, 9, 'now', null, null)) s (state, attempts, count, due, status, error)
  cross join lateral (select min(run.id) as id from onceward.run join onceward.consumer c on c.id = consumer_id where c.name = 'payment_capture') r
  cross join lateral generate_series(s.count * 1000, s.count * 1000 + s.count - 1) n`

const positions = `
  insert into onceward.checkpoint (consumer_id, partition, epoch, run_id, next, at)
  select c.id, r.source || '/' || p, 4, (select id from onceward.run where consumer_id = c.id order by id offset p % 2 limit 1), (8231 * (p + 3))::text,
    clock_timestamp() - p * interval '3 seconds'
  from onceward.reader r join onceward.consumer c on c.name = r.consumer_name cross join generate_series(0, 5) p where r.kind = 'kafka';
  insert into onceward.loss (consumer_id, partition, from_incarnation, from_position, to_incarnation, to_position, records, reason, declared_by_run)
  select c.id, 'stock.moved/3', 'a', '18204', 'a', '18977', 773, 'the broker removed them before they were read', min(r.id)
  from onceward.consumer c join onceward.run r on r.consumer_id = c.id where c.name = 'stock_levels' group by c.id`

const outbox = `
  insert into onceward.destination (name, kind) values ('rabbitmq:shop/', 'rabbitmq'), ('kafka:orders', 'kafka');
  insert into onceward.relay (destination, instance, until) values ('kafka:orders', 'relay-1', clock_timestamp() + interval '1 day');
  insert into onceward.outbox (broker, destination, bucket, queue, message_id, key, body, failures, last_error, created_at)
  select split_part(d, ':', 1), d, n % 32, q, q || '-' || n, 'k' || n % 5, '\\x7b7d', case when d like 'kafka%' and n = 1 then 3 else 0 end,
    case when d like 'kafka%' and n = 1 then 'MESSAGE_TOO_LARGE: the record is larger than 1048588 bytes' end, clock_timestamp() - interval '12 minutes'
  from (values ('rabbitmq:shop/', 'order.shipped', 31), ('kafka:orders', 'order.events', 4)) s (d, q, count) cross join lateral generate_series(1, s.count) n`

const lastHour = `
  insert into onceward.sample (consumer_id, slot, minute, applied, duplicates, set_aside, failed, lag, pending)
  select c.id, (extract(epoch from m.minute) / 60)::bigint % 64, m.minute,
    (s.rate * (1 + 0.35 * sin(m.n / 6.0) + 0.12 * sin(m.n * 2.1)))::bigint, (s.rate * 0.08)::bigint,
    case when m.n between 44 and 58 and c.name = 'payment_capture' then 8 else 0 end,
    case when m.n > 42 and c.name = 'payment_capture' then 40 else 2 end, s.lag, 0
  from (values ('invoice_booking', 180, 0), ('payment_capture', 2600, 40), ('parcel_tracking', 9400, 310), ('order_mail', 420, 96), ('stock_levels', 5100, 0)) s (name, rate, lag)
  join onceward.consumer c on c.name = s.name
  cross join lateral (select n, date_trunc('minute', clock_timestamp()) - (59 - n) * interval '1 minute' as minute
    from generate_series(0, 59) n) m
  where not (c.name = 'stock_levels' and m.n > 34) and not (c.name = 'order_mail' and m.n > 55)
  on conflict do nothing`
