import type { Check } from './check.ts';
import { decideCgroups, decideEngine } from './decide-engine.ts';
import {
  dataDirBounds,
  decideClock,
  decideDataDir,
  decideDisk,
  decideNodeName,
  decideNodeVersion,
  decideOthers,
  decidePort,
  decidePrivileges,
  dockerRootBounds,
} from './decide-machine.ts';
import { decideNetwork } from './decide-network.ts';
import type { Facts } from './facts.ts';
import { type PreflightInput, probe } from './probe.ts';

/** The preflight checks of a machine. All problems are reported together. */
export async function preflight(input: PreflightInput): Promise<readonly Check[]> {
  return decidePreflight(await probe(input));
}

/** Pure; in the order in which people read it. */
export function decidePreflight(facts: Facts): readonly Check[] {
  const { engine, others, nodeName, ranNodeBefore, dataDir, dockerRoot } = facts;
  const answer = engine.kind === 'answers' ? engine : undefined;
  const checks: (Check | undefined)[] = [
    decideNodeVersion(facts.nodeVersion),
    decidePrivileges(facts.uid),
    decideEngine(engine, facts.dockerAddress),
    decideCgroups(answer, facts.controllers),
    decideClock(facts.nowMs, facts.certificates),
    decideDataDir(dataDir, facts.uid) ?? decideDisk('data directory', dataDir, dataDirBounds),
    dockerRoot && decideDisk("the engine's folder", dockerRoot, dockerRootBounds),
    facts.port && decidePort(facts.port, others),
    ...(facts.network ? decideNetwork(facts.network, facts.uid) : []),
    decideNodeName(nodeName),
    decideOthers({ nodeName, others, ranNodeBefore, containersOfNode: answer?.containersOfNode ?? 0 }),
  ];
  return checks.filter((check) => check !== undefined);
}
