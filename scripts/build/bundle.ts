import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { doorsOf } from './doors.ts'
import { versionCheck } from './require-doors.ts'

/** What a process is started with, beside the doors of the package. */
const programs = { 'cli/main': 'src/cli/main.ts', 'child/main': 'src/verify/child/main.ts' }

/**
 * Packed with the library, so that it works beside every SDK: each SDK wants one minor version of the API, and
 * an application has chosen its own. Only the metrics page uses this one.
 */
const bundled = /^@opentelemetry\/(sdk-metrics|exporter-prometheus|core|resources|semantic-conventions)(\/|$)/

/**
 * Bundles the sources into `dist`: a file for each door and program, and chunks of what they share. A module
 * of its own costs about 0.2 ms at every start, and there are 590 behind the first door. Comments stay in the
 * declarations only; source maps name the lines of the sources.
 */
export async function bundle(home: string): Promise<void> {
  const doors = doorsOf(home).map(({ name, source }) => [name, source])
  const started = Object.entries(programs).map(([name, file]) => [name, join(home, file)])
  const build = await rolldown({
    input: Object.fromEntries([...doors, ...started]) as Record<string, string>,
    platform: 'node',
    tsconfig: false,
    external: id => !/^[./#]/.test(id) && !bundled.test(id),
    experimental: { attachDebugInfo: 'none' },
  })
  await build.write({
    dir: join(home, 'dist'),
    format: 'esm',
    entryFileNames: '[name].js',
    // Not in a folder: `child-pool.ts` finds its program beside its chunk.
    chunkFileNames: '[name]-[hash].js',
    // Evaluated before anything that an old Node has not.
    banner: ({ isEntry, name }) => (isEntry ? `import '${upFrom(name)}${versionCheck}'` : ''),
    comments: { legal: true, annotation: true, jsdoc: false },
    sourcemap: true,
    // As a part of the maps, the sources would double the package.
    sourcemapExcludeSources: true,
  })
  await build.close()
}

function upFrom(name: string): string {
  return '../'.repeat(name.split('/').length - 1) || './'
}
