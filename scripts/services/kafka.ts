import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildOnce, downloadFolder, runFolder } from './cache-folders.ts'
import { assertPortsFree, exchange } from './network.ts'
import { mustRun, needProgram, timed } from './run-command.ts'
import {
  killServer,
  launchDetached,
  recordedServer,
  recordServer,
  stopServer,
  untilReady,
} from './server-process.ts'
import { type Log, ports, type Runner } from './service.ts'

const version = '4.3.0'
const endpoints = { url: `127.0.0.1:${ports.kafka}` }
const jars = () => downloadFolder(`kafka-${version}`)
export const classpath = () => join(jars(), 'lib', '*')
const propertiesFile = () => join(runFolder('kafka'), 'server.properties')

const dependency = ([group, artifact, wanted]: readonly [string, string, string]) =>
  `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${wanted}</version></dependency>`

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>onceward</groupId><artifactId>kafka-server</artifactId><version>1</version><dependencies>
${(
  [
    ['org.apache.kafka', 'kafka_2.13', version],
    ['org.apache.kafka', 'kafka-tools', version],
    ['org.slf4j', 'slf4j-simple', '1.7.36'],
  ] as const
)
  .map(dependency)
  .join('\n')}
</dependencies></project>
`

const properties = (dataDir: string) => `process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:${ports.kafkaController}
listeners=PLAINTEXT://127.0.0.1:${ports.kafka},CONTROLLER://127.0.0.1:${ports.kafkaController}
advertised.listeners=PLAINTEXT://127.0.0.1:${ports.kafka}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
log.dirs=${dataDir}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
min.insync.replicas=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
`

/** Resolves with the path of java when that and the jars are there. */
export async function installKafka(log: Log): Promise<string> {
  const say: Log = line => log(`kafka: ${line}`)
  const java = await needProgram('java', ['openjdk-17-jre-headless'], say)
  if (existsSync(jars())) return java
  const maven = await needProgram('mvn', ['maven'], say)
  await timed(say, `downloading Kafka ${version} (about 54 MB of jars, once)`, () =>
    buildOnce(jars(), async partial => {
      writeFileSync(join(partial, 'pom.xml'), pom)
      const flags = ['-B', '-q', '-DoutputDirectory=lib', '-DincludeScope=runtime']
      await mustRun(maven, ['dependency:copy-dependencies', ...flags], { cwd: partial })
    }),
  )
  return java
}

/** For processes of a few seconds: to optimise their code costs more than it ever gives back. */
export const shortLived = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']

/**
 * An id as Kafka writes them, for a cluster or a folder. It never begins with a hyphen, which would be an
 * option.
 */
export const kafkaId = () => `o${randomBytes(16).toString('base64url').slice(1)}`

/**
 * Makes the folder a log's, as the properties file says: of a cluster of its own, or of one that `cluster`
 * names.
 */
export async function formatStorage(
  java: string,
  file: string,
  more: readonly string[] = [],
  cluster?: { readonly id: string; readonly initialControllers: string },
): Promise<void> {
  const controllers =
    cluster === undefined ? ['--standalone'] : ['--initial-controllers', cluster.initialControllers]
  const format = ['format', ...controllers, '-t', cluster?.id ?? kafkaId(), '-c', file, ...more]
  await mustRun(java, [...shortLived, '-cp', classpath(), 'kafka.tools.StorageTool', ...format])
}

/** Formats into a fresh folder and renames it into place, so that a half-formatted log is never served. */
async function formatOnce(java: string): Promise<void> {
  const data = join(runFolder('kafka'), 'data')
  if (!existsSync(data)) {
    const partial = `${data}.partial`
    rmSync(partial, { recursive: true, force: true })
    mkdirSync(partial)
    writeFileSync(propertiesFile(), properties(partial))
    await formatStorage(java, propertiesFile())
    renameSync(partial, data)
  }
  writeFileSync(propertiesFile(), properties(data))
}

/** Metadata v4 without topics: ready when the answer lists at least one broker. */
export async function kafkaAnswers(port: number): Promise<boolean> {
  const request = Buffer.alloc(23)
  request.writeInt32BE(19, 0)
  request.writeInt16BE(3, 4)
  request.writeInt16BE(4, 6)
  request.writeInt32BE(1, 8)
  request.writeInt16BE(4, 12)
  request.write('once', 14)
  request.writeInt32BE(0, 18)
  const answer = await exchange(port, request)
  return answer !== undefined && answer.length >= 16 && answer.readInt32BE(12) > 0
}

const isReady = () => kafkaAnswers(ports.kafka)

async function start(log: Log) {
  const running = recordedServer('kafka')
  if (!running) {
    await assertPortsFree('kafka', [ports.kafka, ports.kafkaController])
    const java = await needProgram('java', ['openjdk-17-jre-headless'], log)
    await formatOnce(java)
    // Named and meant as in Kafka's own scripts.
    const flags = process.env.KAFKA_JVM_PERFORMANCE_OPTS?.split(' ') ?? []
    const args = ['-Xmx512m', ...flags, '-cp', classpath(), 'kafka.Kafka', propertiesFile()]
    recordServer('kafka', launchDetached('kafka', java, args), propertiesFile())
  }
  await untilReady('kafka', isReady, () => recordedServer('kafka') !== undefined)
  return endpoints
}

export const localKafka: Runner = {
  up: async log => {
    if (!recordedServer('kafka')) await installKafka(log)
    return start(log)
  },
  start,
  down: () => stopServer('kafka', recordedServer('kafka'), 20_000),
  kill: () => killServer(recordedServer('kafka')),
  running: async () => (recordedServer('kafka') && (await isReady()) ? endpoints : undefined),
  mainProcess: () => recordedServer('kafka'),
}
