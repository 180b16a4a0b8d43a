import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { ensurePages } from '../../../../scripts/build/ensure-pages.ts'
import { ensureChromium } from '../../../../scripts/services/chromium.ts'
import { skipWithout } from '../../../onceward/test/services/services.ts'

const found = await ensureChromium({ log: line => console.error(line) })

/** An option for `describe`: skips, with the reason, where no browser or database can be had. */
export async function skipWithoutBrowser(
  ...services: Parameters<typeof skipWithout>
): Promise<{ skip?: string }> {
  if ('unavailable' in found) return { skip: found.unavailable }
  return services.length === 0 ? skipWithout('postgres') : skipWithout(...services)
}

/** A browser on the pages as they are in the sources. */
export async function openBrowser(): Promise<Browser> {
  if ('unavailable' in found) throw new Error(found.unavailable)
  await ensurePages()
  return chromium.launch({ executablePath: found.path, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}

/** A page of one person. Errors of its scripts and its policy are collected. */
export async function openPage(
  browser: Browser,
  link: string,
  options: BrowserContextOptions = {},
): Promise<{ readonly page: Page; readonly errors: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const errors: string[] = []
  page.on('pageerror', error => errors.push(error.message))
  page.on('console', message => {
    // A refused act is an answer with an error status, which the browser reports here too.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
      errors.push(message.text())
  })
  await page.goto(link)
  await page.getByRole('heading', { level: 1 }).waitFor()
  return { page, errors }
}
