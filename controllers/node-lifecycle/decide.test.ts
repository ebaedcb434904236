import { describe, expect, it } from 'vitest';
import type { Node, NodeCondition, Taint } from '../../api/generated/types.ts';
import { node, pod } from '../../test/builders/index.ts';
import { decideNode, decidePod, decideTransitions, isGivenUp, lossOf, type NodeAction, type NodeView } from './decide.ts';

const now = Date.UTC(2026, 0, 1, 12, 0, 30);
const heardAt = Date.UTC(2026, 0, 1, 12);
const seconds = now / 1000;

const agentTypes = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'];
const heartbeat = { seconds: seconds - 40 };
const well: NodeCondition[] = agentTypes.map((type) => ({
  type,
  status: type === 'Ready' ? 'True' : 'False',
  reason: 'AsItSays',
  lastHeartbeatTime: heartbeat,
  lastTransitionTime: { seconds: 1 },
}));

function nodeWith(conditions: NodeCondition[], taints: Taint[] = [], unschedulable = false): Node {
  return node('n1')
    .with((object) => {
      object.status!.conditions = conditions;
      object.spec = { taints, ...(unschedulable ? { unschedulable } : {}) };
    })
    .build();
}

const withStatus = (type: string, status: string) => well.map((each) => (each.type === type ? { ...each, status } : each));
const unknown = well.map((each) => ({ ...each, status: 'Unknown' }));
const decide = (object: Node, silent: boolean, giveUp: NodeView['giveUp'] = 'no') =>
  decideNode({ node: object, silent, heardAt, giveUp, now });
const taint = (key: string, effect = 'NoSchedule'): Taint => ({ key: `node.kubernetes.io/${key}`, effect });
const conditionsOf = (actions: readonly NodeAction[]) =>
  actions.flatMap((action) => (action.type === 'set-conditions' ? action.conditions : []));
const taintsOf = (actions: readonly NodeAction[]) =>
  actions.flatMap((action) => (action.type === 'set-taints' ? action.taints.map(({ key, effect }) => ({ key, effect })) : []));

describe('a node whose agent is silent', () => {
  it('is unknown in everything the agent answered for, since now, with what the agent confirmed last', () => {
    const conditions = conditionsOf(decide(nodeWith(well), true));
    expect(conditions.map(({ type, status, reason }) => [type, status, reason]).toSorted()).toEqual(
      agentTypes.toSorted().map((type) => [type, 'Unknown', 'NodeStatusUnknown']),
    );
    for (const { lastTransitionTime, lastHeartbeatTime } of conditions)
      expect([lastTransitionTime, lastHeartbeatTime]).toEqual([{ seconds }, heartbeat]);
    expect(conditions[0]?.message).toContain('the agent has not reported since 2026-01-01T12:00:00Z');
  });

  it('is tainted as unreachable in the same breath', () => {
    expect(taintsOf(decide(nodeWith(well), true))).toEqual([taint('unreachable')]);
    expect(taintsOf(decide(nodeWith(withStatus('Ready', 'False'), [taint('not-ready')]), true))).toEqual([taint('unreachable')]);
  });

  it('stays as it is once all of that is written', () => {
    expect(decide(nodeWith(unknown, [taint('unreachable')]), true)).toEqual([]);
  });

  it('keeps conditions that others answer for', () => {
    const own = { type: 'NetworkUnavailable', status: 'False' };
    expect(conditionsOf(decide(nodeWith([...well, own]), true)).map(({ type }) => type)).not.toContain('NetworkUnavailable');
  });

  it('that was never heard gets the conditions, and another reason', () => {
    const conditions = conditionsOf(decide(nodeWith([]), true));
    expect(conditions.map(({ type, status, reason }) => [type, status, reason])).toEqual(
      ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'].map((type) => [type, 'Unknown', 'NodeStatusNeverUpdated']),
    );
  });
});

describe('a node whose agent is heard', () => {
  it('keeps the conditions that it has, also unknown ones: only the agent can say otherwise', () => {
    expect(conditionsOf(decide(nodeWith(unknown), false))).toEqual([]);
  });

  it.each([
    ['nothing while it is ready', well, []],
    ['nothing while it has said nothing', [], []],
    ['not-ready while it says that it is not', withStatus('Ready', 'False'), ['not-ready']],
    ['unreachable while nothing is known of it', withStatus('Ready', 'Unknown'), ['unreachable']],
    ['its pressure', withStatus('DiskPressure', 'True'), ['disk-pressure']],
  ])('is tainted with %s', (_, conditions, keys) => {
    expect(taintsOf(decide(nodeWith(conditions), false))).toEqual(keys.map((key) => taint(key)));
  });

  it('is tainted while it is marked unschedulable', () => {
    expect(taintsOf(decide(nodeWith(well, [], true), false))).toEqual([taint('unschedulable')]);
  });

  it('loses the taint when it is ready again, and keeps those of others', () => {
    const others = [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }, taint('out-of-service', 'NoExecute')];
    const [action] = decide(nodeWith(well, [others[0]!, taint('unreachable'), others[1]!]), false);
    expect(action).toEqual({ type: 'set-taints', taints: others });
  });

  it('is left alone when it has exactly the taints that it should have', () => {
    expect(decide(nodeWith(well, [{ key: 'gpu', effect: 'NoExecute' }]), false)).toEqual([]);
  });
});

describe('a node that is given up', () => {
  const driving = taint('unreachable', 'NoExecute');

  it('has the taint that drives pods away beside the one that keeps them away', () => {
    expect(taintsOf(decide(nodeWith(well), true, 'yes'))).toEqual([taint('unreachable'), driving]);
    const notReady = nodeWith(withStatus('Ready', 'False'));
    expect(taintsOf(decide(notReady, false, 'yes'))).toEqual([taint('not-ready'), taint('not-ready', 'NoExecute')]);
  });

  it('has it of no other condition', () => {
    const pressed = nodeWith(withStatus('DiskPressure', 'True'));
    expect(taintsOf(decide(pressed, false, 'yes'))).toEqual([taint('disk-pressure')]);
  });

  it('loses it when eviction stops, and keeps it while that is in doubt', () => {
    const given = nodeWith(unknown, [taint('unreachable'), driving]);
    expect(isGivenUp(given)).toBe(true);
    expect(decide(given, true, 'no')).toEqual([{ type: 'set-taints', taints: [taint('unreachable')] }]);
    expect(decide(given, false, 'keep')).toEqual([]);
    expect(decide(nodeWith(unknown, [taint('unreachable')]), false, 'keep')).toEqual([]);
  });

  it('changes from unreachable to not-ready when it says so', () => {
    const back = nodeWith(withStatus('Ready', 'False'), [taint('unreachable'), driving]);
    expect(taintsOf(decide(back, false, 'yes'))).toEqual([taint('not-ready'), taint('not-ready', 'NoExecute')]);
  });

  it('loses it when it is ready, whatever is said of giving up', () => {
    expect(taintsOf(decide(nodeWith(well, [driving]), false, 'yes'))).toEqual([]);
  });

  it.each([
    ['True', false, 'none'],
    ['False', false, 'lost'],
    ['Unknown', false, 'in-doubt'],
    ['Unknown', true, 'lost'],
    ['True', true, 'lost'],
  ])('is one whose Ready is %s and silence %s: %s', (status, silent, loss) => {
    expect(lossOf(nodeWith(withStatus('Ready', status)), silent)).toBe(loss);
  });
});

describe('a pod on a silent node', () => {
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: { seconds: 1 } };

  it('is not ready any more, and says which node is the reason', () => {
    expect(decidePod(pod('web').on('n1').condition(ready).build(), node('n1').build(), now)).toEqual({
      type: 'Ready',
      status: 'False',
      reason: 'NodeNotReady',
      message: 'node "n1" does not report: what its containers do is not known',
      lastTransitionTime: { seconds },
    });
  });

  it.each([
    ['was not ready before', pod('web').condition({ ...ready, status: 'False', reason: 'ContainersNotReady' })],
    ['has not started', pod('web')],
  ])('that %s is left as it is', (_, builder) => {
    expect(decidePod(builder.on('n1').build(), node('n1').build(), now)).toBeUndefined();
  });
});

describe('a change of a node', () => {
  it.each([
    ['True', 'Unknown', 'NodeNotReady'],
    ['True', 'False', 'NodeNotReady'],
    ['False', 'Unknown', undefined],
    ['Unknown', 'True', 'NodeReady'],
    ['False', 'True', 'NodeReady'],
    ['True', 'True', undefined],
    [undefined, 'True', undefined],
  ])('from Ready %s to %s is told as %s', (before, after, reason) => {
    const as = (status: string | undefined) => nodeWith(status === undefined ? [] : [{ type: 'Ready', status, message: 'why' }]);
    expect(decideTransitions(as(after), as(before))[0]?.reason).toBe(reason);
  });

  it.each([
    ['MemoryPressure', 'NodeHasInsufficientMemory', 'NodeHasSufficientMemory'],
    ['DiskPressure', 'NodeHasDiskPressure', 'NodeHasNoDiskPressure'],
    ['PIDPressure', 'NodeHasInsufficientPID', 'NodeHasSufficientPID'],
  ])('of %s is told when it begins and when it ends', (type, begun, ended) => {
    const [fine, pressed] = [nodeWith(well), nodeWith(withStatus(type, 'True'))];
    const told = (next: Node, old: Node) => decideTransitions(next, old).map((each) => [each.type, each.reason]);
    expect(told(pressed, fine)).toEqual([['Warning', begun]]);
    expect(told(fine, pressed)).toEqual([['Normal', ended]]);
    expect(told(pressed, pressed)).toEqual([]);
  });

  it('of the pressure of a node that falls silent, or is heard again without any, is not told', () => {
    const reasons = (next: Node, old: Node) => decideTransitions(next, old).map(({ reason }) => reason);
    expect(reasons(nodeWith(unknown), nodeWith(well))).toEqual(['NodeNotReady']);
    expect(reasons(nodeWith(well), nodeWith(unknown))).toEqual(['NodeReady']);
  });

  it('of a node that is cordoned, and uncordoned, is told', () => {
    const reasons = (next: Node, old: Node) => decideTransitions(next, old).map(({ reason }) => reason);
    expect(reasons(nodeWith(well, [], true), nodeWith(well))).toEqual(['NodeNotSchedulable']);
    expect(reasons(nodeWith(well), nodeWith(well, [], true))).toEqual(['NodeSchedulable']);
  });

  it('for the worse is told with the reason that the condition gives', () => {
    const bad = nodeWith([{ type: 'Ready', status: 'False', message: 'the engine is away' }]);
    expect(decideTransitions(bad, nodeWith(well))[0]?.message).toBe('node "n1" is not ready: the engine is away');
  });
});
