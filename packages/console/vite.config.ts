import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { UserConfig } from 'vite'

const home = dirname(fileURLToPath(import.meta.url))

const config: UserConfig = {
  root: join(home, 'src', 'web'),
  // Relative addresses: the base path is decided at run time, by <base>.
  base: './',
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: join(home, 'dist', 'web'),
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
  },
}
export default config
