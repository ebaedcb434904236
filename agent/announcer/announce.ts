import { createSocket } from 'node:dgram';
import { addressNumber, addressText } from '../../api/meta/address-range.ts';
import { feed, type Shell } from '../pod-network/shell.ts';

/** The reserved addresses, which no host has: requests for them are never answered. */
const reserved = 0xf0000000;
const size = 2 ** 28;
/** By then the kernel has sent the first request. It repeats it twice, a second apart, also without the route. */
const settleMs = 100;

/** An address that no host has, another one for each. */
export const silentAddress = (address: string): string => addressText(reserved + ((addressNumber(address) ?? 0) % (size - 1)));

/**
 * Tells the hosts on a link that addresses of this machine are here now: gratuitous ARP, sent by the kernel. A packet
 * with such an address as its source goes to an address that no host has. The kernel looks for that one with broadcast
 * ARP requests, whose sender is the address to be told, and every host that knows the address takes over the hardware
 * address of a request's sender (RFC 826). So neither raw sockets nor a further program are needed.
 */
export async function announce(addresses: readonly string[], link: string, shell: Shell): Promise<void> {
  if (addresses.length === 0) return;
  const routes = (verb: string) => addresses.map((each) => `route ${verb} ${silentAddress(each)}/32 dev ${link} src ${each}`);
  await shell.run(feed('ip -force -batch -', routes('replace')));
  try {
    await sendTo(addresses.map(silentAddress));
    await new Promise((resolve) => setTimeout(resolve, settleMs));
  } finally {
    await shell.run(feed('( ip -force -batch - 2>/dev/null || true )', routes('del')));
  }
}

/** One byte to the discard port of each. */
async function sendTo(targets: readonly string[]): Promise<void> {
  const socket = createSocket('udp4');
  const discard = 9;
  try {
    await Promise.all(
      targets.map(
        (target) =>
          new Promise<void>((resolve, reject) =>
            socket.send('x', discard, target, (error) => (error ? reject(error) : resolve())),
          ),
      ),
    );
  } finally {
    socket.close();
  }
}
