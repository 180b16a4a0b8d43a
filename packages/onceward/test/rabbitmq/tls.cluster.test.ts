import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { makeCertificates } from '../kafka/certificates.ts'
import { healAfter } from '../rabbitmq-stream/cluster-streams.ts'
import { type PrivatePorts, skipWithoutPrivateRabbitmq } from '../services/private-rabbitmq.ts'
import { type RabbitmqCluster, startRabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { underLoad, untilQueueLed } from './queue-load.ts'

const etc = '/etc/rabbitmq'
const configuration = (ports: PrivatePorts) => [
  `listeners.ssl.1 = 127.0.0.1:${ports.amqpTls}`,
  `ssl_options.cacertfile = ${etc}/ca.pem`,
  `ssl_options.certfile = ${etc}/server.pem`,
  `ssl_options.keyfile = ${etc}/server.key`,
  'ssl_options.verify = verify_peer',
  'ssl_options.fail_if_no_peer_cert = true',
  'cluster_partition_handling = pause_minority',
]

describe('a quorum queue on three nodes with TLS and logins', {
  timeout: 580_000,
  ...(await skipWithoutPrivateRabbitmq()),
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'onceward-tls-cluster-'))
  let cluster: RabbitmqCluster
  let certificates: ReturnType<typeof makeCertificates>
  before(async () => {
    certificates = makeCertificates(folder)
    const { ca, server } = certificates
    const files = { 'ca.pem': ca, 'server.pem': server.cert, 'server.key': server.key }
    cluster = await startRabbitmqCluster({ configuration, files })
  })
  after(async () => {
    await cluster?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('the node of its leader is killed: the consumer continues over TLS at another one', async t => {
    healAfter(t, cluster)
    const hosts = cluster.nodes.map(({ ports }) => `127.0.0.1:${ports.amqpTls}`)
    const load = await underLoad(t, cluster, 'secured', {
      address: `amqps://guest:guest@${hosts.join()}/%2F`,
      options: { tls: { ca: certificates.ca, ...certificates.client } },
    })
    const leader = await untilQueueLed(cluster.nodes, load.queue)
    await leader.kill()
    await load.worksOn()
    await leader.start()
    await cluster.formed()
    await load.allAppliedOnce()
  })
})
