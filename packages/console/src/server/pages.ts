import { existsSync, readFileSync } from 'node:fs'
import { dirname, extname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Hono } from 'hono'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** `dist/web`, from the sources and from the built package alike. */
function webFolder(): string {
  const here = dirname(fileURLToPath(import.meta.url))
  return (
    [join(here, '..', 'web'), join(here, '..', '..', 'dist', 'web')].find(
      folder => existsSync(join(folder, 'index.html')) && existsSync(join(folder, 'assets')),
    ) ?? join(here, '..', 'web')
  )
}

/** The built pages. Their addresses are relative to `<base>`, which has the base path of this console. */
export function mountPages(app: Hono, basePath: string): void {
  const folder = webFolder()
  app.get('/assets/:name', context => {
    const name = normalize(context.req.param('name'))
    const file = join(folder, 'assets', name)
    const type = types[extname(name)]
    if (name.includes('/') || name.includes('\\') || type === undefined || !existsSync(file))
      return context.notFound()
    return context.body(new Uint8Array(readFileSync(file)), 200, {
      'content-type': type,
      'cache-control': 'public, max-age=31536000, immutable',
    })
  })
  app.get('/*', context => {
    const file = join(folder, 'index.html')
    if (!existsSync(file))
      return context.text('The pages are not built. Run "npm run build". The API works without them.', 503)
    const html = readFileSync(file, 'utf8').replace('<base href="/">', `<base href="${basePath}">`)
    return context.body(html, 200, { 'content-type': types['.html']!, 'cache-control': 'no-store' })
  })
}
