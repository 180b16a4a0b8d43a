import type { contribution } from 'onceward'
import type { queue } from 'onceward/rabbitmq'

type Message = { eventId: string; caseId: string; version: number }
/** Two contracts whose pages must differ, or the reason why the option is not on the page. */
export type Shown = string | readonly [before: object, after: object]

const pace = 'changes when and how fast, and no outcome'
const address = 'an address, credential or time-out of a connection; pages show hosts only'
const label = 'a label of the message for evidence and metrics'
const alerts = 'a limit of alerts about the process'
const operators = 'what operators are shown or asked, not what happens to a message'
const clock = 'how long finished records are kept for operators; messages are decided by markers alone'
const endpoint = 'how the target is called; the page names the target and its policy'
const limits = 'all limits have one outcome, which the page shows: quarantined'

const identity = (more: object) => ({
  identity: { id: (m: Message) => m.eventId, orderKey: (m: Message) => m.caseId, ...more },
})
const pay = { external: { pay: { url: 'https://pay.example/' } } }
const external = (target: object) =>
  [{ effect: pay }, { effect: { external: { pay: { ...pay.external.pay, ...target } } } }] as const
const publish = (before: object, after: object) =>
  [{ effect: { publish: { out: before } } }, { effect: { publish: { out: after } } }] as const
const failure = (after: object, before: object = {}) => [{ failure: before }, { failure: after }] as const
const retention = (after: object, before: object = {}) =>
  [
    { retention: { markers: '30d', ...before } },
    { retention: { markers: '30d', ...before, ...after } },
  ] as const
const withReceipts = (term: string) => ({
  evidence: { receipts: true },
  retention: { markers: '30d', receipts: term },
})
const mail = {
  kind: 'email',
  policy: 'at most once',
  host: 'mail.example',
  from: 'a@b.example',
  messageIdDomain: 'b.example',
}
const toKafka = { broker: 'kafka', topic: 'cases' }
const toExchange = { broker: 'rabbitmq', exchange: 'cases', routingKey: 'a' }

interface Made {
  readonly contribution: typeof contribution
  readonly queue: typeof queue
}

export function shownOptions({ contribution, queue }: Made): Readonly<Record<string, Shown>> {
  const fromQueue = { source: queue('cases') }
  const facts = contribution<Message>({
    facts: 'fact',
    summary: 'total',
    window: 'none',
    key: m => m.caseId,
    eventId: m => m.eventId,
  })
  return {
    name: [{}, { name: 'other_view' }],
    owner: [{}, { owner: 'other team' }],
    producer: [{}, { producer: 'portal' }],
    description: [{}, { description: 'what it is for' }],
    risk: [{}, { risk: 'low value' }],
    generation: [{}, { generation: 2 }],
    handlerVersion: label,
    handle: 'the code itself; the page says that a handler writes',
    handleBatch: 'the code itself; the page says that a handler writes',
    'identity.id': [{}, identity({ id: { header: 'event-id' } })],
    'identity.businessKey': [{}, identity({ businessKey: (m: Message) => m.caseId })],
    'identity.businessDigest': [
      identity({ businessKey: (m: Message) => m.caseId }),
      identity({ businessKey: (m: Message) => m.caseId, businessDigest: (m: Message) => m.version }),
    ],
    'identity.orderKey': [{}, identity({ orderKey: { header: 'case' } })],
    'identity.eventId': label,
    'identity.idempotencyKey': [{}, identity({ idempotencyKey: { header: 'key' } })],
    'identity.occurredAt': [{}, identity({ occurredAt: { header: 'at' } })],
    'identity.aggregateId': [
      {},
      identity({ aggregateId: (m: Message) => m.caseId, aggregateVersion: (m: Message) => m.version }),
    ],
    'identity.aggregateVersion': [
      identity({ aggregateId: (m: Message) => m.caseId, aggregateVersion: (m: Message) => m.version }),
      identity({ aggregateId: (m: Message) => m.caseId, aggregateVersion: { header: 'version' } }),
    ],
    'identity.correlationId': label,
    'identity.causationId': label,
    'identity.type': label,
    'identity.producer': label,
    'identity.schemaVersion': label,
    'identity.idTime': label,
    order: [{}, { order: 'key' }],
    dedup: [
      { order: 'partition', settle: { when: 'with effect' } },
      { order: 'partition', settle: { when: 'with effect' }, dedup: 'checkpoint' },
    ],
    'settle.when': [{}, { settle: { when: 'with effect' } }],
    'settle.lossAcceptable': [
      { risk: 'low value', settle: { when: 'before effect', lossAcceptable: 'only a hint' } },
      { risk: 'low value', settle: { when: 'before effect', lossAcceptable: 'another reason' } },
    ],
    'message.schema': [{}, { message: { schema: anySchema } }],
    'message.codec': 'the code itself; bytes that it refuses are on the page',
    'message.digestHeaders': [{}, { message: { digestHeaders: ['tenant'] } }],
    'message.maskedMembers': operators,
    'message.types': [{}, { ...identity({ type: { header: 'type' } }), message: { types: ['a'] } }],
    'message.versions': [
      {},
      { ...identity({ schemaVersion: { header: 'version' } }), message: { versions: ['1'] } },
    ],
    'message.tombstones': [{}, { message: { tombstones: 'handle' } }],
    'message.limits.bytesMax': limits,
    'message.limits.decompressedBytesMax': limits,
    'message.limits.headerBytesMax': limits,
    'message.limits.headersMax': limits,
    'message.limits.depthMax': limits,
    'message.limits.keysMax': limits,
    'batch.sizeMax': pace,
    'batch.inFlightMax': pace,
    'batch.deliveriesMax': pace,
    'batch.bytesMax': pace,
    'batch.handlerTimeoutMs': [{}, { batch: { handlerTimeoutMs: 1_234 } }],
    'inbox.mode': [{}, { inbox: { mode: 'stored' } }],
    'inbox.leaseMs': pace,
    'inbox.workers': pace,
    'isolation.mode': [{}, { isolation: { mode: 'child' } }],
    'isolation.deadlineMs': pace,
    'isolation.memoryMaxMb': pace,
    'replay.modes': [{}, { replay: { modes: ['forensic'] } }],
    'replay.window': [{}, { replay: { window: '7d' } }],
    'replay.effects': [{ effect: pay }, { effect: pay, replay: { effects: 'never' } }],
    'replay.tables': [{}, { replay: { tables: ['case_view'] } }],
    'replay.compare.*.key': operators,
    'replay.compare.*.columns': operators,
    'replay.compare.*.mayChange': [
      { replay: { tables: ['case_view'] } },
      { replay: { tables: ['case_view'], compare: { case_view: { mayChange: ['number'] } } } },
    ],
    'reconcile.effects': operators,
    'reconcile.covers': operators,
    'reconcile.perMessage': operators,
    'reconcile.edited': operators,
    'failure.attemptsMax': failure({ attemptsMax: 3 }),
    'failure.delayMs': pace,
    'failure.delayMaxMs': pace,
    'failure.jitter': pace,
    'failure.mode': failure({ mode: 'defer' }),
    'failure.classes.*': failure({ classes: { E_GONE: 'validation' } }),
    'failure.policies.*.attemptsMax': failure({ policies: { poison: { attemptsMax: 7 } } }),
    'failure.policies.*.delayMs': pace,
    'failure.policies.*.delayMaxMs': pace,
    'failure.policies.*.terminal': failure({ policies: { configuration: { terminal: 'halted' } } }),
    'failure.policies.*.breaker': pace,
    'failure.poison.maxAttemptsBeforePark': failure({ poison: { maxAttemptsBeforePark: 2 } }),
    'failure.breaker.failuresMax': failure({ breaker: { failuresMax: 9 } }),
    'failure.breaker.pauseMs': pace,
    'failure.breaker.pauseMaxMs': pace,
    'failure.brake.messagesMin': failure({ brake: { messagesMin: 33 } }),
    'failure.brake.shareMin': failure({ brake: { shareMin: 0.7 } }),
    'failure.brake.pauseMs': pace,
    'failure.brake.pauseMaxMs': pace,
    'failure.redelivery.countMax': [fromQueue, { ...fromQueue, failure: { redelivery: { countMax: 4 } } }],
    'failure.redelivery.action': [
      { ...fromQueue, failure: { redelivery: { countMax: 4 } } },
      { ...fromQueue, failure: { redelivery: { countMax: 4, action: 'set aside' } } },
    ],
    'failure.exhausted': failure({ exhausted: 'dead-lettered' }),
    'failure.parking.perKeyMax': failure({ parking: { perKeyMax: 77 } }),
    'failure.parking.totalMax': failure({ parking: { totalMax: 77_000 } }),
    'failure.deadLetter.to': failure({ deadLetter: { to: 'dead' } }),
    'failure.deadLetter.owner': failure(
      { deadLetter: { to: 'dead', owner: 'ops' } },
      { deadLetter: { to: 'dead' } },
    ),
    'failure.deadLetter.manualReviewRequired': failure(
      { exhausted: 'dead-lettered', deadLetter: { to: 'dead', manualReviewRequired: true } },
      { exhausted: 'dead-lettered', deadLetter: { to: 'dead' } },
    ),
    'failure.deadLetter.passingAcceptedBy': [
      { risk: 'money', order: 'key', failure: { deadLetter: { to: 'dead' } } },
      { risk: 'money', order: 'key', failure: { deadLetter: { to: 'dead', passingAcceptedBy: 'ann' } } },
    ],
    'effect.apply': [{}, { handle: undefined, effect: { apply: facts } }],
    'effect.external.*.kind': [{ effect: pay }, { effect: { external: { pay: mail } } }],
    'effect.external.*.policy': external({ policy: 'at most once' }),
    'effect.external.*.query': endpoint,
    'effect.external.*.queryDelayMs': pace,
    'effect.external.*.keyLifetimeMs': pace,
    'effect.external.*.timeoutMs': pace,
    'effect.external.*.attemptsMax': pace,
    'effect.external.*.retryDelayMs': pace,
    'effect.external.*.retryDelayMaxMs': pace,
    'effect.external.*.concurrencyMax': pace,
    'effect.external.*.ratePerSecondMax': pace,
    'effect.external.*.breaker.failuresMax': pace,
    'effect.external.*.breaker.pauseMs': pace,
    'effect.external.*.url': external({ url: 'https://other.example/' }),
    'effect.external.*.method': endpoint,
    'effect.external.*.headers.*': endpoint,
    'effect.external.*.keyHeader': endpoint,
    'effect.external.*.replayedHeader': endpoint,
    'effect.external.*.secrets.*': endpoint,
    'effect.external.*.allowPrivate': endpoint,
    'effect.external.*.ports': endpoint,
    'effect.external.*.host': [
      { effect: { external: { pay: mail } } },
      { effect: { external: { pay: { ...mail, host: 'other.example' } } } },
    ],
    'effect.external.*.port': endpoint,
    'effect.external.*.tls': endpoint,
    'effect.external.*.credentials.user': endpoint,
    'effect.external.*.credentials.password': endpoint,
    'effect.external.*.from': endpoint,
    'effect.external.*.messageIdDomain': endpoint,
    'effect.external.*.call': endpoint,
    'effect.publish.*.broker': publish(toKafka, { broker: 'postgres', queue: 'cases' }),
    'effect.publish.*.topic': publish(toKafka, { broker: 'kafka', topic: 'others' }),
    'effect.publish.*.queue': publish(
      { broker: 'postgres', queue: 'cases' },
      { broker: 'postgres', queue: 'others' },
    ),
    'effect.publish.*.exchange': publish(toExchange, { ...toExchange, exchange: 'others' }),
    'effect.publish.*.routingKey': publish(toExchange, { ...toExchange, routingKey: 'b' }),
    'effect.publish.*.bytesMax': endpoint,
    'effect.publish.*.evidence': label,
    'effect.publish.*.destination': address,
    'effect.publish.*.encoder': endpoint,
    'source.url': address,
    'source.managementUrl': address,
    'source.tls': address,
    'source.tls.ca': address,
    'source.tls.cert': address,
    'source.tls.key': address,
    'source.tls.passphrase': address,
    'source.tls.servername': address,
    'source.sasl.mechanism': address,
    'source.sasl.username': address,
    'source.sasl.password': address,
    'source.requestTimeoutMs': address,
    'source.connectTimeoutMs': address,
    'source.sessionTimeoutMs': pace,
    'source.rebalanceTimeoutMs': pace,
    'source.addedPartitionsWaitMs': pace,
    'evidence.receipts': [{}, { evidence: { receipts: true } }],
    'evidence.keep': [{ evidence: { receipts: true } }, { evidence: { receipts: true, keep: 'payload' } }],
    'retention.markers': [{}, { retention: { markers: '30d' } }],
    'retention.businessKeys': clock,
    'retention.effects': clock,
    'retention.notes': clock,
    'retention.attempts': clock,
    'retention.deadLetters': clock,
    'retention.receipts': [withReceipts('30d'), withReceipts('90d')],
    'retention.suppressedEffects': clock,
    'retention.heldActions': clock,
    'retention.sourceKeeps': 'an assumption that check compares with the source',
    'retention.action': retention({ action: 'archive' }),
    'retention.behindHorizon': retention({ behindHorizon: 'apply' }, { behindHorizon: 'park' }),
    'retention.partitions': [
      { ...identity({ idTime: 'uuidv7' }), retention: { markers: '30d' } },
      { ...identity({ idTime: 'uuidv7' }), retention: { markers: '30d', partitions: 'daily' } },
    ],
    'retention.tenantSeparator': 'only divides ids; the terms of the tenants are on the page',
    'retention.tenants.*': retention({ tenants: { acme: '60d' } }, { tenantSeparator: ':' }),
    'objectives.lagMax': [{}, { objectives: { lagMax: '77s' } }],
    'objectives.lagRecordsMax': [{}, { objectives: { lagRecordsMax: 77 } }],
    'objectives.applyP99Max': [{}, { objectives: { applyP99Max: '77s' } }],
    'objectives.duplicateShareMax': [{}, { objectives: { duplicateShareMax: 0.77 } }],
    'objectives.setAsideMax': [{}, { objectives: { setAsideMax: 77 } }],
    'objectives.setAsideAgeMax': [{}, { objectives: { setAsideAgeMax: '77s' } }],
    'objectives.leasesExpiredPerHourMax': alerts,
    'objectives.outboxAgeMax': alerts,
    'objectives.parkingShareMax': alerts,
    'objectives.idleMax': alerts,
  }
}

const anySchema = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const
