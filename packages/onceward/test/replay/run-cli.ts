import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Scene } from './scene.ts'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const sceneUrl = new URL('./scene.ts', import.meta.url).href
const ownUrl = new URL('../../src/index.ts', import.meta.url).href

/** The consumer of a scene as a module, and `onceward replay … --json` on its database. */
export async function replayCli(scene: Scene) {
  const module = join(dirname(scene.path), 'facts.ts')
  await writeFile(
    module,
    `import { defineConsumer } from '${ownUrl}'
     import { factContract } from '${sceneUrl}'
     export default defineConsumer(factContract(${JSON.stringify(scene.path)}))`,
  )
  const said = (args: readonly string[]) =>
    new Promise<{ code: number; stdout: string }>(resolve => {
      const env = { ...process.env, ONCEWARD_DATABASE_URL: scene.url }
      execFile(
        process.execPath,
        ['--conditions=@onceward/source', main, 'replay', ...args],
        { env },
        (error, stdout) => resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout }),
      )
    })
  const run = async (...args: string[]) => {
    const { code, stdout } = await said([...args, '--json'])
    // biome-ignore lint/suspicious/noExplicitAny: what a command printed
    return { code, out: JSON.parse(stdout) as any }
  }
  return { module, run, said }
}
