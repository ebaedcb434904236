import type { NeededProgram } from '../pod-network/programs.ts';
import { type Check, fail, ok, warn } from './check.ts';

/** A firewall that is in force, and drops what no rule of its own lets in. */
export type Firewall = 'ufw' | 'firewalld';

/** What the routed network of pods finds on a machine. */
export interface NetworkFacts {
  /** As `uname -r` says: "6.1.0-13-amd64". */
  readonly kernel: string;
  readonly missing: readonly NeededProgram[];
  readonly firewall: Firewall | undefined;
}

/** The first whose nftables has ranges in concatenated keys. */
const oldestKernel = [5, 6] as const;

const opening: Readonly<Record<Firewall, string>> = {
  ufw: 'ufw allow from PODS && ufw allow proto udp from NODES to any port 8472',
  firewalld:
    'firewall-cmd --permanent --zone=trusted --add-source=PODS && firewall-cmd --permanent --add-port=8472/udp && firewall-cmd --reload',
};

/** Whether pods can have the routed network here. */
export function decideNetwork({ kernel, missing, firewall }: NetworkFacts, uid: number): readonly Check[] {
  const orElse = 'or leave pods in the network of the engine: --pod-network engine';
  if (uid !== 0) return [fail("pods' network: only root makes links, routes and rules", `run it with sudo, ${orElse}`)];
  const [major = 0, minor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10));
  const [oldestMajor, oldestMinor] = oldestKernel;
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor))
    return [fail(`pods' network: Linux ${kernel} is too old`, `use ${oldestKernel.join('.')} or newer, ${orElse}`)];
  if (missing.length > 0) {
    const packages = [...new Set(missing.map((each) => each.of))].join(' ');
    const names = missing.map(({ name }) => name).join(', ');
    return [
      fail(`pods' network: the programs ${names} are missing`, `install them (Debian: apt-get install ${packages}), ${orElse}`),
    ];
  }
  const programs = ok("pods' network: all programs are there");
  if (firewall === undefined) return [programs];
  const advice = `let them in, with the pods' range as PODS (10.42.0.0/16 unless --cluster-cidr says another) and the network of the other nodes as NODES: ${opening[firewall]}`;
  return [programs, warn(`pods' network: ${firewall} may drop what pods and other nodes send to this machine`, advice)];
}
