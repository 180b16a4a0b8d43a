import { type LookupAddress, lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/**
 * Networks without public targets: the local machine, the local network, cloud metadata, and tunnels that
 * lead back to them. One list for each family: in a shared list, the IPv4-mapped range of IPv6 would block
 * every IPv4 address.
 */
const blocked = { ipv4: new BlockList(), ipv6: new BlockList() }
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  blocked.ipv4.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of [
  ['::', 96],
  ['::ffff:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const)
  blocked.ipv6.addSubnet(network, prefix, 'ipv6')

/**
 * True for an address in a private, loopback, link-local, metadata, mapped or reserved network, and for text
 * that is not an address.
 */
export function isPrivateAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 0) return true
  const family = version === 6 ? 'ipv6' : 'ipv4'
  return blocked[family].check(address, family)
}

export type Resolve = (
  hostname: string,
  done: (error: Error | null, addresses: LookupAddress[]) => void,
) => void

const resolveByName: Resolve = (hostname, done) => void lookup(hostname, { all: true }, done)

/**
 * A `lookup` for sockets. The checked addresses are the ones connected to, so a name that resolves
 * differently a moment later changes nothing. One forbidden address among several refuses them all.
 */
export function guardedLookup(resolve: Resolve = resolveByName): LookupFunction {
  return (hostname, options, done) => {
    resolve(hostname, (error, addresses) => {
      if (error !== null) return done(error, '', 0)
      const forbidden = addresses.find(({ address }) => isPrivateAddress(address))
      if (forbidden !== undefined) return done(refusal(hostname, forbidden.address), '', 0)
      if (options.all === true) return done(null, addresses)
      done(null, addresses[0]!.address, addresses[0]!.family)
    })
  }
}

function refusal(hostname: string, address: string): NodeJS.ErrnoException {
  const text = `${hostname} resolves to ${address}, an address of a private or reserved network. Nothing was sent; set allowPrivate: true if this is intended`
  return Object.assign(new Error(text), { code: 'ERR_ADDRESS_REFUSED' })
}
