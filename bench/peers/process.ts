import type { Load } from '../workload.ts'
import type { PeerPlace } from './peer.ts'
import { loadPeer } from './peers.ts'

// One peer in a process of its own. `fill` ends by itself; `work` goes on until the process is killed.
const [module, name, placeText, command, loadText] = process.argv.slice(2) as [
  string,
  string,
  string,
  'fill' | 'first' | 'after a kill',
  string?,
]
// The bench may be stopped in the middle of a run.
process.on('disconnect', () => process.exit(1))
const peer = await loadPeer(module, name)
const place = JSON.parse(placeText) as PeerPlace
if (command === 'fill') {
  await peer.fill(place, JSON.parse(loadText!) as Load)
  process.exit(0)
}
await peer.work(place, command)
// A listener that only polls with timers that were unreferenced would end the process.
setInterval(() => {}, 60_000)
