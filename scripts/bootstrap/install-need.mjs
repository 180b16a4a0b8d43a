// Pure decisions about what is installed and what must be: no file is read and nothing is run here.

const matches = (list, value) => {
  if (list === undefined) return true
  const names = [list].flat()
  if (names.includes(`!${value}`)) return false
  return names.every(name => name.startsWith('!')) || names.includes(value) || names.includes('any')
}

function isForPlatform(entry, platform) {
  const libcFits = platform.libc === undefined || matches(entry.libc, platform.libc)
  return matches(entry.os, platform.os) && matches(entry.cpu, platform.cpu) && libcFits
}

function isNeeded(entry, need, platform) {
  if (entry.dev && need === 'production') return false
  if ((entry.optional || entry.devOptional) && !isForPlatform(entry, platform)) return false
  // npm never installs a peer that is both optional and asked for by nobody.
  return !(entry.peer && entry.optional)
}

const isInstalledAs = (have, want) => {
  if (have === undefined) return false
  if (want.link) return have.link === true && have.resolved === want.resolved
  return have.version === want.version && (!want.integrity || have.integrity === want.integrity)
}

/**
 * The packages of `lock` that are absent or of another version in `installed` (npm's
 * `node_modules/.package-lock.json`, written last, so an interrupted install leaves none).
 * Extra packages do not count: a full install satisfies the production need.
 */
export function missingPackages(lock, installed, need, platform) {
  const have = installed?.packages ?? {}
  return Object.entries(lock.packages)
    .filter(([path]) => path.startsWith('node_modules/') || path.includes('/node_modules/'))
    .filter(([path, entry]) => isNeeded(entry, need, platform) && !isInstalledAs(have[path], entry))
    .map(([path]) => path)
}

/** Install scripts stay off: neither the Node 24 nor the PostgreSQL packages need theirs, and npm 12 skips them anyway. */
export function installArguments(need) {
  const kinds =
    need === 'production' ? ['--omit=dev', '--include=optional'] : ['--include=dev', '--include=optional']
  return ['ci', ...kinds, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
}
