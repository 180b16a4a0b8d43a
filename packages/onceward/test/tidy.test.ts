import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { crashPoints } from '../src/crash-points.ts'

const home = join(dirname(fileURLToPath(import.meta.url)), '..')
const src = join(home, 'src')
const files = globSync('**/*.ts', { cwd: src }).map(normalize).sort()
const text = new Map(files.map(file => [file, ownCode(file, readFileSync(join(src, file), 'utf8'))]))

/** What `onceward init` writes is a program in a text: not ours to look at. */
function ownCode(file: string, code: string): string {
  return /^cli\/init\/.*-text\.ts$/.test(file) ? code.replaceAll(/`(?:[^`\\]|\\.)*`/gs, "''") : code
}

interface Import {
  readonly file: string
  readonly to: string
  readonly typeOnly: boolean
}

const imports: readonly Import[] = files.flatMap(file => {
  const code = withoutComments(text.get(file)!)
  const found = code.matchAll(
    /(?:import|export)\s+(type\s)?(?:[^'"]*?from\s+)?'(\.[^']+)'|import\((?:\s*)'(\.[^']+)'/g,
  )
  return [...found].map(([, type, from, dynamic]) => ({
    file,
    to: normalize(join(dirname(file), (from ?? dynamic)!)),
    typeOnly: type !== undefined,
  }))
})

/** Groups of nodes that reach each other by value imports; `nodeOf` names the node of a file. */
function valueCycles(nodeOf: (file: string) => string): readonly string[] {
  const next = new Map<string, Set<string>>()
  for (const { file, to, typeOnly } of imports) {
    const [from, target] = [nodeOf(file), nodeOf(to)]
    if (typeOnly || from === target) continue
    if (!next.has(from)) next.set(from, new Set())
    next.get(from)!.add(target)
  }
  const reachedFrom = (start: string) => {
    const reached = new Set(next.get(start))
    for (const node of reached) for (const further of next.get(node) ?? []) reached.add(further)
    return reached
  }
  const reach = new Map([...next.keys()].map(node => [node, reachedFrom(node)]))
  const inCycle = [...reach.keys()].filter(node => reach.get(node)!.has(node))
  const mutual = inCycle.map(node =>
    inCycle.filter(other => reach.get(node)!.has(other) && reach.get(other)!.has(node)),
  )
  return [...new Set(mutual.map(group => group.sort().join(', ')))]
}

const within = (path: string, ...folders: readonly string[]) =>
  folders.some(folder => path.startsWith(folder))
const listed = (found: readonly Import[]) => found.map(({ file, to }) => `${file} imports ${to}`)

/** Comments out; strings stay, so that templates need no parser. */
function withoutComments(code: string): string {
  return code.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|[^:'"`])\/\/.*$/gm, '$1')
}

/** Code without comments and plain strings: what is left are names. */
const namesOnly = (code: string) => withoutComments(code).replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''")

/** From the ground up. */
const rooms = [
  ...[
    'message',
    'ports',
    'drivers',
    'contract',
    'schema',
    'engine',
    'work',
    'telemetry',
    'effects',
    'operations',
  ],
  ...['replay', 'evidence', 'review', 'runtime', 'verify', 'testing', 'cli'],
]

describe('import boundaries', () => {
  test('every relative import points to a file that exists', () => {
    assert.deepEqual(listed(imports.filter(({ to }) => !text.has(to))), [])
  })

  test('values are imported only from lower rooms, so rooms form no cycle', () => {
    const level = (file: string) => rooms.indexOf(file.split('/')[0]!)
    const upwards = imports.filter(
      ({ file, to, typeOnly }) => level(file) !== -1 && level(to) > level(file) && !typeOnly,
    )
    assert.deepEqual(listed(upwards), [])
  })

  test('files form no cycle of value imports', () =>
    assert.deepEqual(
      valueCycles(file => file),
      [],
    ))

  test('only commands import a public entry point, and no other file at the root imports a room', () => {
    const doors = Object.values(doorFiles())
    const atRoot = (file: string) => !file.includes('/')
    const values = imports.filter(({ typeOnly }) => !typeOnly)
    const inwards = values.filter(({ file, to }) => doors.includes(to) && atRoot(to) && !within(file, 'cli/'))
    const outwards = values.filter(({ file, to }) => atRoot(file) && !doors.includes(file) && !atRoot(to))
    assert.deepEqual(listed([...inwards, ...outwards]), [])
  })

  test('every folder is a room, and ARCHITECTURE.md has a sentence for each, highest first', () => {
    const folders = new Set(files.filter(file => file.includes('/')).map(file => file.split('/')[0]!))
    assert.deepEqual([...folders].sort(), rooms.toSorted())
    const architecture = readFileSync(join(home, '../../ARCHITECTURE.md'), 'utf8')
    const table = architecture.slice(
      architecture.indexOf('## Rooms'),
      architecture.indexOf('## What is true'),
    )
    const described = [...table.matchAll(/^\| (`[^|]*`) \| ([^|]+) \|$/gm)]
    const named = described.flatMap(([, names]) =>
      [...names!.matchAll(/`(\w+)\/`/g)].map(([, name]) => name!),
    )
    assert.deepEqual(named, rooms.toReversed())
    for (const [, name, sentence] of described) assert.ok(sentence!.trim().length > 20, name)
  })

  test('the engine and what is below it import no driver, not even a type', () => {
    const core = imports.filter(({ file }) =>
      within(file, 'engine/', 'message/', 'contract/', 'ports/', 'work/'),
    )
    assert.deepEqual(listed(core.filter(({ to }) => within(to, 'drivers/'))), [])
  })

  test('a driver imports ports, messages, logs, TLS and its own folder', () => {
    const free = [
      ...[
        'ports/',
        'message/',
        'drivers/log/',
        'drivers/tls/',
        'contract/contract.ts',
        'contract/handler.ts',
      ],
      ...['errors.ts', 'environment.ts', 'crash-points.ts'],
    ]
    const foreign = imports.filter(({ file, to }) => {
      const [room, driver, ...rest] = file.split('/')
      if (room !== 'drivers' || rest.length === 0) return false
      return !within(to, `drivers/${driver}/`, ...free)
    })
    assert.deepEqual(listed(foreign), [])
  })

  test('SQL on our schema is only in the PostgreSQL driver', () => {
    const sql = /\b(from|into|update|join|select|call|table)\s+onceward\.[a-z_]+|onceward\.[a-z_]+\(/
    // An advice that an operator runs, and a suite that reads what the store under test wrote.
    const allowed = ['review/rules/postgres.ts', 'testing/conformance/store-suspect-cases.ts']
    const found = files.filter(
      file =>
        !within(file, 'drivers/postgres/') &&
        !allowed.includes(file) &&
        sql.test(withoutComments(text.get(file)!)),
    )
    assert.deepEqual(found, [])
  })

  test('the functions of acts are called through acts.ts', () => {
    const acts = 'drivers/postgres/acts.ts'
    const called = [...text.get(acts)!.matchAll(/onceward\.([a-z_]+)\(/g)].map(([, name]) => name!)
    assert.ok(called.length > 25)
    // Processes record an incarnation that they detect.
    const allowed = ['server/read-incarnations.ts', 'server-incarnation.ts'].map(
      one => `drivers/postgres/${one}`,
    )
    const call = new RegExp(`select onceward\\.(${called.join('|')})\\(`)
    const found = files.filter(
      file =>
        ![acts, ...allowed].includes(file) &&
        !within(file, 'drivers/postgres/migrations/') &&
        call.test(withoutComments(text.get(file)!)),
    )
    assert.deepEqual(found, [])
  })

  test('telemetry only reads: no statement that it can reach writes', () => {
    const reached = new Set(files.filter(file => within(file, 'telemetry/')))
    // The list of migrations says which version the schema must have; only `migrate.ts` applies it.
    for (const file of reached)
      for (const { to, typeOnly } of imports.filter(one => one.file === file))
        if (!typeOnly && within(to, 'drivers/postgres/') && !within(to, 'drivers/postgres/migrations/'))
          reached.add(to)
    assert.ok(reached.has('drivers/postgres/run/read-flow.ts'))
    const writes = /\b(insert into|update onceward|delete from|merge into|truncate|setval|nextval)\b/i
    assert.deepEqual(
      [...reached].filter(file => writes.test(withoutComments(text.get(file)!))),
      [],
    )
  })

  test('nothing outside the test kit imports it', () => {
    assert.deepEqual(
      listed(imports.filter(({ file, to }) => within(to, 'testing/') && !within(file, 'testing/'))),
      [],
    )
  })

  test('commands import public entry points, the runtime and the views, not internals', () => {
    const doors = Object.values(doorFiles())
    const allowed = [
      ...['cli/', 'evidence/', 'runtime/', 'telemetry/', 'review/', 'operations/', 'replay/', 'verify/'],
      ...['contract/', 'message/iso-time.ts', 'message/deceptive.ts', 'errors.ts', 'environment.ts'],
      'drivers/broker-security.ts',
      ...doors,
    ]
    const inside = imports.filter(
      ({ file, to, typeOnly }) => within(file, 'cli/') && !typeOnly && !within(to, ...allowed),
    )
    assert.deepEqual(listed(inside), [])
  })

  test('the SDK of OpenTelemetry is loaded only by the metrics server, when it starts', () => {
    const loading = files.filter(file => /@opentelemetry\/(?!api')/.test(withoutComments(text.get(file)!)))
    assert.deepEqual(loading, ['runtime/open-prometheus.ts'])
    assert.doesNotMatch(
      withoutComments(text.get('runtime/open-prometheus.ts')!),
      /^import .*@opentelemetry\/(?!api')/m,
    )
  })

  test('the Kafka client is imported by one file only', () => {
    const importing = files.filter(file => /from '@platformatic\//.test(withoutComments(text.get(file)!)))
    assert.deepEqual(importing, ['drivers/kafka/client/wire.ts'])
  })

  test("only a handler's handle is a proxy", () => {
    const handles = ['drivers/memory/session.ts', 'drivers/postgres/adapters/knex.ts']
    const allowed = [...handles, 'testing/conformance/delivery-bench.ts']
    const proxied = files.filter(file => /\bnew Proxy\b/.test(withoutComments(text.get(file)!)))
    assert.deepEqual(
      proxied.filter(file => !allowed.includes(file)),
      [],
    )
  })

  test('no public entry point re-exports wholesale', () => {
    for (const file of Object.values(doorFiles())) assert.doesNotMatch(text.get(file)!, /export \*/, file)
  })
})

describe('the environment is passed in', () => {
  const banned = [
    /\bDate\.now\b/,
    /\bnew Date\b/,
    /\bMath\.random\b/,
    /\bset(Timeout|Interval|Immediate)\b/,
    /\bqueueMicrotask\b/,
    /\bprocess\./,
    /\bperformance\b/,
    /\bAbortSignal\.timeout\b/,
    /\brandom(UUID|Bytes|Int)\b/,
    /from 'node:(timers|process|perf_hooks|os|worker_threads)/,
    /\bconsole\./,
  ]
  const withoutEnvironment = [
    ...['engine/', 'message/', 'effects/', 'work/', 'operations/', 'evidence/', 'replay/', 'review/'],
    ...['contract/', 'ports/', 'telemetry/alerts/', 'cli/init/'],
  ]
  for (const folder of withoutEnvironment) {
    test(`${folder} touches no clock, timer, randomness or process`, () => {
      const found = files
        .filter(file => file.startsWith(folder))
        .flatMap(file =>
          banned.filter(one => one.test(namesOnly(text.get(file)!))).map(one => `${file}: ${one.source}`),
        )
      assert.deepEqual(found, [])
    })
  }
})

describe('names', () => {
  test('no file has a vague name', () => {
    const vague =
      /^((utils?|helpers?|common|manager|misc|lib|stuff)(\.|$|-)|shared(\.|$))|-(utils?|helpers?|manager)\./
    assert.deepEqual(
      files.filter(file => file.split('/').some(part => vague.test(part))),
      [],
    )
  })

  test('one name is one exported type', () => {
    const declared = files.flatMap(file =>
      [...text.get(file)!.matchAll(/^export (?:interface|type|class) (\w+)/gm)].map(([, name]) => ({
        name,
        file,
      })),
    )
    const twice = [...Map.groupBy(declared, ({ name }) => name)].filter(([, all]) => all.length > 1)
    assert.deepEqual(
      twice.map(([name, all]) => `${name}: ${all.map(({ file }) => file).join(', ')}`),
      [],
    )
  })

  test('files are in kebab-case', () => {
    assert.deepEqual(
      files.filter(file => !/^[a-z0-9]+(-[a-z0-9]+)*\.ts$/.test(basename(file))),
      [],
    )
  })

  test('no comment is a TODO', () => {
    const marks = /\b(TODO|FIXME|XXX|HACK)\b/
    assert.deepEqual(
      files.filter(file => marks.test(text.get(file)!)),
      [],
    )
  })

  test('no default exports and no enums: Node runs the source unchanged', () => {
    const code = files.filter(file =>
      /^\s*export default|^\s*(export )?(const )?enum |^\s*(export )?namespace /m.test(
        withoutComments(text.get(file)!),
      ),
    )
    assert.deepEqual(code, [])
  })
})

describe('crash points', () => {
  const known = Object.keys(crashPoints)
  const reached = files
    .filter(file => !within(file, 'testing/') && file !== 'crash-points.ts')
    .flatMap(file =>
      [...withoutComments(text.get(file)!).matchAll(/(?:reach|inert\))\(\s*'([a-z]+\.[a-z]+)'/g)].map(
        ([, point]) => point!,
      ),
    )

  test('every point that is reached is declared', () => {
    assert.deepEqual(
      reached.filter(point => !known.includes(point)),
      [],
    )
  })

  test('every declared point is reached, in one place', () => {
    assert.deepEqual([...reached].sort(), [...known].sort())
  })

  const scenarios = join(home, 'test/crash/scenarios.ts')
  const missing = existsSync(scenarios) ? {} : { skip: 'test/crash/scenarios.ts does not exist yet' }
  test('every declared point has a scenario in the crash suite, or a test of its own', missing, async () => {
    const { crashScenarios, killedElsewhere } = (await import(scenarios)) as {
      crashScenarios: Record<string, unknown>
      killedElsewhere: Record<string, string>
    }
    assert.deepEqual(
      [...Object.keys(crashScenarios), ...Object.keys(killedElsewhere)].sort(),
      [...known].sort(),
    )
    for (const [point, file] of Object.entries(killedElsewhere))
      assert.ok(readFileSync(join(home, 'test', file), 'utf8').includes(`'${point}'`), `${file}: ${point}`)
  })
})

describe('error codes', () => {
  const declared = [...text.get('errors.ts')!.matchAll(/^ {2}\| '([a-z_]+)'$/gm)].map(([, code]) => code!)
  const raised = files.flatMap(file =>
    [
      ...withoutComments(text.get(file)!).matchAll(
        /new OncewardError\(\s*(?:[\w.\s=!]+\?\s*'([a-z_]+)'\s*:\s*)?'([a-z_]+)'/g,
      ),
    ].flatMap(([, first, second]) => [first, second].filter(code => code !== undefined)),
  )

  test('every declared code is raised somewhere', () => {
    assert.ok(declared.length > 10)
    assert.deepEqual(
      declared.filter(code => !raised.includes(code)),
      [],
    )
  })

  test('every raised code is declared', () => {
    assert.deepEqual(
      raised.filter(code => !declared.includes(code)),
      [],
    )
  })
})

/** Hand-picked: a name added to or taken from a door is a decision, made here as well. */
const publicNames: Record<string, string> = {
  '.': `BatchContext BatchItem bytesCodec Clock Codec Consumer ConsumerContract ConsumerProcess ConsumerState Decision DeclaredEffect defineConsumer
    Delivery DeliveryProperties Effects Envelope ErrorCode ExternalRequest ExternalTarget ClassPolicy FailureClass FailureSection HandlerContext Health ignore jsonBigintCodec jsonCodec jsonRoundedCodec Limits
    Log Mode OncewardError Outcome park Part PublishRequest PublishTarget quarantine realEnvironment reject retryAfter Risk runConsumer Running RunOptions Source SourceCapabilities
    SourceDeclaration SourceEvent SqlTransaction stableId stale Store StoreCapabilities StoreSession StoreTrouble Subscription synchronousHandle Environment Timers Verdict
    AggregateTable audit AuditDeclaration Command CommandOptions commandFrom contribution ContributionDeclaration ContributionEffect
    ContributionWindow DeclaredMove Drift EffectResponse StateMachine transition TransitionDeclaration
    CallOutcome CustomTarget EmailTarget HttpTarget InlineAnswer Mail notification NotificationIdentity QueryAnswer RepeatPolicy Secret TargetContext
    TargetRequest VerifiedWebhook verifyWebhook WebhookTarget WebhookToVerify
    CampaignMode openReplay Replay ReplayOptions ReplaySection RetentionSection
    Accepted Campaign CampaignProgress CampaignRequest CampaignState ComparedTable ParkedSelection CampaignPlan CampaignPreview Selection Swap TableComparison
    Cause cause ReconcileSection
    ConsumerParts consumerParts loadPolicy Policy withPolicy TransformParts
    defineTransform Transform TransformContext TransformContract TransformFailure runTransform RunningTransform RunTransformOptions
    OutgoingMessage PublishAnswer Publisher RangeReader
    Gap GapAction GapPolicy ProjectedFact ProjectedKey projection ProjectionOptions ProjectionResult Repair
    After AfterContext AuditResult ContributionResult EffectContext TransitionResult`,
  './rabbitmq': `BrokerTls createRabbitPublisher createRabbitSource ensureDeadLetterQueue ensureRetryLevels RabbitOutgoingMessage OutgoingTarget PublishResult queue
    QueueDeclaration QueueOptions RabbitPublisher RabbitPublisherOptions RabbitSourceOptions`,
  './kafka': `createKafkaPublisher createKafkaSource createRetryTopicSource CreateTopicOptions ensureTopic KafkaConnectionOptions KafkaOutgoingMessage KafkaPublisher
    KafkaPublisherOptions KafkaPublishResult KafkaSasl KafkaSourceOptions KafkaTls topic TopicDeclaration TopicOptions TopicStart
    createKafkaTransform KafkaTransform KafkaTransformInput KafkaTransformOptions KafkaTransformOutput kafkaTransformPromise`,
  './rabbitmq-stream': `BrokerTls createStreamSource stream StreamDeclaration StreamOptions StreamSourceOptions StreamStart`,
  './postgres': `createPool createPortStore createPostgresSource createPostgresStore createQueue hint migrate OpenTransaction postgresQueue
    PostgresStore PostgresStoreOptions publish queueDepth SqlPort TransactionOptions WatchedStatements watchReplication`,
  './kysely': 'createKyselyStore KyselyStoreOptions',
  './drizzle': 'createDrizzleStore DrizzleTransaction',
  './knex': 'createKnexStore',
  './outbox': `OutboxMessage publishInTransaction PublishRequest PublishTarget RelayedBroker RunningRelay RunRelayOptions runRelay`,
  './schema': `ApicurioAccess ApicurioOptions apicurioRegistry apicurioWire avroCodec AvroCodecOptions avroEncoder AvroEncoderOptions AvroTypeOptions BasicAuth BearerAuth
    confluentHeaderWire confluentRegistry confluentWire Framed FrameOptions FrameRequest glueWire jsonSchemaCodec JsonSchemaCodecOptions jsonSchemaEncoder JsonSchemaEncoderOptions
    protobufCodec ProtobufCodecOptions protobufEncoder ProtobufEncoderOptions ReferencedSchema RegisteredSchema Registration RegistryAccess RegistryCodecOptions RegistryEncoderOptions
    SchemaIds SchemaIdsOptions SchemaRef SchemaRegistry SchemaSource SchemaType SchemaVersion SubjectChoice WireFormat WritableFormat WrittenFrame`,
  './cloudevents': `CloudEvent CloudEventBody cloudEventFromHttp CloudEventHttp cloudEventId cloudEventIdentity CloudEventMode cloudEventsCodec CloudEventsCodecOptions
    cloudEventsEncoder CloudEventsEncoderOptions cloudEventToHttp`,
  './memory':
    'MemoryLog MemoryLogMessage MemoryLogOptions MemoryMessage MemoryQueue MemoryStore MemoryTransaction',
  './operations': `acceptBroker acceptLoss acceptServer actingAs ActingPool ActKey alertsOf approveCampaign approveRequest attentionReason AttentionReason AuditRow BlockedKeyRow Campaign campaignFindings campaignHistory
    CampaignProgress CampaignState cancelCampaign checkContract classifyParked ConsumerDetail ConsumerTrouble ContractReport declineRequest finishCampaign FlowHour FlowSeries Halt listCampaigns listFilters
    pauseCampaign quarantineParked readBrakes readCampaign readConsumerDetail readProgress readRates readTrouble releaseBrake removeFilter renderRunbook runbooksFor RunRow SavedFilter
    saveFilter SearchLimits searchPayload SearchResult SourceLag verifyCampaign ConsoleLogin contractPage DeclaredLoss defaultRamp
    deleteParked DeletionRequest DiffLine diffLines dropStuck explain Explanation findAlert findRedrive Fixed fixPayload groupParked HeldWork isListedPerson KeyView LedgerDetail LedgerEntry
    listApprovals listAudit listBrokers listClosed listDestinations listFixes listHeld listLedger listParked listReaders listRedrives listStuck noteStateFixed
    openGuardedPool parkedCsv ParkedDetails ParkedFilter ParkedGroup ParkedPreview ParkedRow ParkedState parkedStates PayloadMember previewParked Ramp RampResult rampRedrive readBody
    readConsoleLogin readLosses readRestore readStatus reconcileEffect RecordedFix RedriveReport RedriveSummary releaseHeld recordRefusal RefusedAct renameConsumer renderPage requestDeletion RestoreView
    retireDestination retryEffect runRedrive separateConsumer showKey showLedger showParked showRedrive skipParked SqlPool startRedrive Status stopRedrive
    Story StuckMessage TimelineEntry verifyAudit ApprovalFilter findApproval RedriveFilter WaitingRequests`,
  './file': 'createFileSource file FileDeclaration FileOptions FileSourceOptions',
  './embedded': 'EmbeddedPostgres EmbeddedPostgresOptions findEmbeddedPostgres startEmbeddedPostgres',
  './testing': `CrashPoint crashPoints createTestEnvironment DeathOptions deliveryConformance DeliveryFactory DeliveryFeature dieAt FaultKind
    faultKinds handleConformance handlerOn HandlesFactory HandlesUnderTest HeldRow IntentRow LogLine LossRow logOptions MemoryCheckpoints Position probeRollback PublishedMessage
    publisherConformance PublisherFactory PublisherFeature PublisherUnderTest rangeReaderConformance RangeReaderFactory RangeReaderFeature RangeReaderUnderTest Reach
    replicationConformance RollbackProbe runSimulation ScenarioName ScheduleResult SimulationFailure SimulationOptions SimulationReport simulationScenarios
    sourceConformance SourceFactory SourceFeature SourceUnderTest storeConformance StoreFactory StoreFeature StoreUnderTest
    SynchronousStandby TestEnvironment TestEnvironmentOptions traceSchedule until UntilOptions
    assertVerified FaultClass Invariant verifyConsumer VerifyFailure VerifyOptions VerifyProgress VerifyReport`,
}

function doorFiles(): Record<string, string> {
  const { exports } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { '@onceward/source': string }>
  }
  return Object.fromEntries(
    Object.entries(exports).flatMap(([door, to]) =>
      typeof to === 'string' ? [] : [[door, normalize(to['@onceward/source'].replace('./src/', ''))]],
    ),
  )
}

function exportedNames(code: string): string[] {
  const lists = [...withoutComments(code).matchAll(/export (?:type )?\{([^}]*)\}/g)].flatMap(([, list]) =>
    list!.split(','),
  )
  return lists.map(name => name.trim().replace(/^type /, '')).filter(name => name !== '')
}

describe('public entry points', () => {
  test('are those of the package, no more and no less', () => {
    assert.deepEqual(Object.keys(doorFiles()).sort(), Object.keys(publicNames).sort())
  })

  for (const [door, names] of Object.entries(publicNames)) {
    test(`onceward${door.slice(1)} shows exactly the names listed here`, async () => {
      const code = text.get(doorFiles()[door]!)!
      assert.deepEqual(exportedNames(code).sort(), names.trim().split(/\s+/).sort())
      const values = Object.keys((await import(`onceward${door.slice(1)}`)) as object)
      assert.deepEqual(
        values.filter(value => !names.split(/\s+/).includes(value)),
        [],
      )
    })
  }
})

test('every fault in the list of faults names a test that exists', () => {
  const page = readFileSync(join(home, '../../docs/faults.md'), 'utf8')
  const rows = [...page.matchAll(/^\| (\d+) \|.*\| `([^`]+)`: (.+) \|$/gm)]
  const staged = rows.map(([, number]) => Number(number))
  const logs = Array.from({ length: 15 }, (_, index) => 41 + index)
  const later = Array.from({ length: 40 }, (_, index) => 56 + index)
  const expected = [7, 8, 12, 22, 23, ...logs, ...later]
  assert.deepEqual(
    expected.filter(number => !staged.includes(number)),
    [],
  )
  const missing = rows.filter(([, , file, words]) => {
    const path = join(home, 'test', file!)
    return !existsSync(path) || !readFileSync(path, 'utf8').includes(words!)
  })
  assert.deepEqual(
    missing.map(([, number]) => number),
    [],
  )
})
