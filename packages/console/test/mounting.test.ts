import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { serve } from '@hono/node-server'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
// @ts-expect-error: the package has no types
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { skipWithout } from '../../onceward/test/services/services.ts'
import { createConsole } from '../src/server/create-console.ts'
import type { Console } from '../src/server/options.ts'
import { Client } from './bench/client.ts'
import { type Incident, openIncident } from './bench/incident.ts'

/** Serves the console below its path, beside a page of its own at `/`. */
type Mount = (desk: Console, base: string) => Promise<{ readonly port: number; close(): unknown }>

const portOf = (server: { address(): unknown }) => (server.address() as { port: number }).port
const host = '127.0.0.1'

const mounts: Readonly<Record<string, Mount>> = {
  "Node's http": async (desk, base) => {
    const server = createServer((request, response) => {
      if (request.url!.startsWith(base)) desk.listener(request, response)
      else response.end('the application')
    })
    await new Promise<void>(resolve => server.listen(0, host, resolve))
    return { port: portOf(server), close: () => server.closeAllConnections() ?? server.close() }
  },
  Hono: async (desk, base) => {
    const app = new Hono()
    app.get('/', context => context.text('the application'))
    app.all(`${base}/*`, context => desk.fetch(context.req.raw))
    const server = serve({ fetch: app.fetch, hostname: host, port: 0 })
    await new Promise(resolve => server.once('listening', resolve))
    return { port: portOf(server), close: () => server.close() }
  },
  Fastify: async (desk, base) => {
    const app = fastify()
    app.get('/', async () => 'the application')
    app.all(`${base}/*`, (request, reply) => {
      reply.hijack()
      desk.listener(Object.assign(request.raw, { body: request.body }), reply.raw)
    })
    await app.listen({ host, port: 0 })
    return { port: portOf(app.server), close: () => app.server.closeAllConnections() ?? app.close() }
  },
  'Express, behind a parser': async (desk, base) => {
    const app = express()
    app.use(express.json())
    app.get('/', (_request: unknown, response: { send(text: string): void }) =>
      response.send('the application'),
    )
    app.use(base, desk.listener)
    const server = createServer(app)
    await new Promise<void>(resolve => server.listen(0, host, resolve))
    return { port: portOf(server), close: () => server.closeAllConnections() ?? server.close() }
  },
  NestJS: async (desk, base) => {
    class Application {}
    Module({})(Application)
    const app = await NestFactory.create(Application, { logger: false })
    app.use(base, desk.listener)
    app
      .getHttpAdapter()
      .get('/', (_: unknown, response: { send(text: string): void }) => response.send('the application'))
    await app.listen(0, host)
    return { port: portOf(app.getHttpServer()), close: () => app.close() }
  },
}

describe('the console in another server', await skipWithout('postgres'), () => {
  let incident: Incident
  before(async () => {
    incident = await openIncident()
  })
  after(() => incident?.close())

  for (const [name, mount] of Object.entries(mounts))
    it(`works under ${name}, below a path that is decided at run time`, async t => {
      const base = `/ops-${randomBytes(3).toString('hex')}/onceward`
      const desk = createConsole({
        database: incident.consoleUrl,
        auth: { kind: 'link' },
        basePath: base,
      })
      const { port, close } = await mount(desk, base)
      t.after(async () => {
        await close()
        await desk.close()
      })
      const origin = `http://${host}:${port}`
      assert.equal(await (await fetch(`${origin}/`)).text(), 'the application')
      assert.equal((await fetch(`${origin}${base}/api/session`)).status, 401)

      const ann = await Client.signIn(`${origin}${desk.signInLink('ann')}`)
      assert.equal((await ann.get('session')).body.person, 'ann')
      const found = (await ann.get('messages?q=code:no_account')).body.rows[0]
      const note = { consumer: found.consumer, because: `mounted under ${name} · “ünïcode”` }
      assert.deepEqual((await ann.post(`messages/${found.id}/note-fix`, note)).body, { ok: true })
      const [act] = (await ann.get('audit?limit=1')).body.rows
      assert.equal(act.reason, note.because)

      const refused = await ann.post(`messages/${found.id}/note-fix`, note, {
        origin: 'https://evil.example',
      })
      assert.equal(refused.body.error.code, 'foreign_origin')
      assert.equal((await ann.get('openapi.json')).body.servers[0].url, `${base}/api`)

      const page = await fetch(`${origin}${base}/`)
      assert.match(page.headers.get('content-security-policy')!, /frame-ancestors 'none'/)
      const stopped = new AbortController()
      const stream = await fetch(`${origin}${base}/api/live`, {
        headers: { cookie: ann.cookie },
        signal: stopped.signal,
      })
      const { value } = await stream.body!.getReader().read()
      assert.match(Buffer.from(value!).toString(), /^event: overview\ndata: \{/)
      stopped.abort()
    })
})
