import { spawn } from 'node:child_process'
import { type Headline, serveConsole } from '@onceward/console'
import { ensurePages } from '../../scripts/build/ensure-pages.ts'
import { paymentCapture } from './payment-capture.ts'
import type { DemoSettings } from './settings.ts'

/** The console on the database of the demo, opened in the browser of this terminal. */
export async function serveDemo(settings: DemoSettings, headline: () => Headline | null) {
  await ensurePages()
  const contract = await paymentCapture(settings, 'console')
  const served = await serveConsole({
    database: settings.databaseUrl,
    auth: { kind: 'link' },
    port: 0,
    person: 'you',
    contracts: [contract as never],
    headline,
  })
  if (process.stdout.isTTY) openBrowser(served.signInUrl!)
  return served
}

const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** The link is printed too, so a machine without a browser only misses the window. */
function openBrowser(url: string): void {
  const [program, ...args] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(program!, [...args, url], { stdio: 'ignore', detached: true })
  child.on('error', () => {})
  child.unref()
}
