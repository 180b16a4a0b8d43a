import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { avoidHost, tryHosts } from '../../src/drivers/log/try-hosts.ts'

let next = 0
const fresh = (count: number) => Array.from({ length: count }, () => `host-${next++}:5672`)
const none = () => false

async function order(hosts: readonly string[], answers: (host: string) => boolean = none, isRefusal = none) {
  const tried: string[] = []
  const opened = await tryHosts({
    hosts,
    nameOf: host => host,
    open: async host => {
      tried.push(host)
      if (!answers(host)) throw new Error(`${host} is away`)
      return host
    },
    isRefusal,
  }).catch((error: Error) => error)
  return { tried, opened }
}

describe('the nodes of a cluster', () => {
  test('are tried one after the other at once, each in its turn', async () => {
    const hosts = fresh(3)
    const { tried, opened } = await order(hosts)
    assert.deepEqual(tried.toSorted(), hosts.toSorted())
    assert.match(String(opened), /no node answers \(.*is away; .*is away; .*is away\)/)
  })

  test('start at any of them', async () => {
    const hosts = fresh(3)
    const first = new Set<string>()
    for (let turn = 0; turn < 200; turn++) first.add((await order(hosts, () => true)).tried[0]!)
    assert.equal(first.size, 3)
  })

  test('one that failed comes last until it has answered again', async () => {
    const hosts = fresh(3)
    avoidHost(hosts[1]!)
    for (let turn = 0; turn < 50; turn++) assert.notEqual((await order(hosts, () => true)).opened, hosts[1])
    const alone = await order(hosts, host => host === hosts[1])
    assert.equal(alone.tried.length, 3)
    assert.equal(alone.opened, hosts[1])
    const first = new Set<string>()
    for (let turn = 0; turn < 50; turn++) first.add((await order([hosts[1]!], () => true)).tried[0]!)
    assert.deepEqual([...first], [hosts[1]])
  })

  test('a refusal is reported rather than an unavailable node, and only when no node answers', async () => {
    const hosts = fresh(3)
    const options = {
      hosts,
      nameOf: (host: string) => host,
      isRefusal: (error: unknown) => String(error).includes('refused'),
    }
    const open = async (host: string) => {
      throw new Error(host === hosts[1] ? 'refused' : 'away')
    }
    await assert.rejects(tryHosts({ ...options, open }), /^Error: refused$/)
    const last = async (host: string) => (host === hosts[2] ? host : open(host))
    assert.equal(await tryHosts({ ...options, open: last }), hosts[2])
  })

  test('no further one is tried after an abort', async () => {
    const stop = new AbortController()
    let tries = 0
    const open = async () => {
      tries++
      stop.abort()
      throw new Error('cut')
    }
    const options = { hosts: fresh(3), nameOf: String, open, isRefusal: none, signal: stop.signal }
    await assert.rejects(tryHosts(options), /cut/)
    assert.equal(tries, 1)
  })
})
