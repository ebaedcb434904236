import type { JsonObject } from '../../client/index.ts';
import { atMost, type Figure, inParallel, median, note } from '../figure.ts';
import { cpuSeconds } from '../process-costs.ts';
import { configuration } from './applies.ts';
import { loadTarget } from './h2load.ts';
import { withApiServer } from './lean-connection.ts';

const ROUNDS = 7;
const CALLS = 1_000;
const AT_ONCE = 32;

/** Of a create that no policy judges. */
const MOST_JUDGED = 0.3;

/** Three rules as people write them: a bound, a text of each container, a label. */
const policy: JsonObject = {
  metadata: { name: 'three' },
  spec: {
    matchConstraints: {
      resourceRules: [{ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['deployments'] }],
    },
    validations: [
      { expression: 'object.spec.replicas <= 5' },
      { expression: "object.spec.template.spec.containers.all(each, each.image.startsWith('example.com/'))" },
      { expression: "has(object.metadata.labels) && 'tier' in object.metadata.labels" },
    ],
  },
};
const binding: JsonObject = { metadata: { name: 'three' }, spec: { policyName: 'three', validationActions: ['Deny'] } };

/** The server's processor time for creates of a Deployment that a policy of three rules judges, and without it. */
export function benchPolicies(say: (text: string) => void): Promise<Figure[]> {
  return withApiServer(async (server) => {
    const { objects } = server.client;
    const { pid } = loadTarget(server);
    let made = 0;
    const cost = async (): Promise<number> => {
      const names = Array.from({ length: CALLS }, () => `web-${made++}`);
      const before = cpuSeconds([pid]);
      // One by one they would cost a sync of the disk each, which is many times what is compared.
      await inParallel(CALLS, AT_ONCE, async (index) => {
        const metadata = { namespace: 'default', name: names[index]!, labels: { tier: 'a' } };
        await objects.create('Deployment', { ...configuration('x'), metadata });
      });
      const micros = ((cpuSeconds([pid]) - before) / CALLS) * 1e6;
      await objects.deleteCollection('Deployment', { namespace: 'default' });
      return micros;
    };
    await objects.create('ValidatingAdmissionPolicy', policy);
    const [plain, judged]: [number[], number[]] = [[], []];
    for (let round = 0; round <= ROUNDS; round++) {
      const without = await cost();
      await objects.create('ValidatingAdmissionPolicyBinding', binding);
      const withPolicy = await cost();
      await objects.delete('ValidatingAdmissionPolicyBinding', { name: 'three' });
      if (round === 0) continue;
      plain.push(without);
      judged.push(withPolicy);
    }
    const [bare, all] = [median(plain), median(judged)];
    say(`a create of a Deployment ${bare.toFixed(0)} us, with a policy of three rules ${all.toFixed(0)} us`);
    return [
      atMost('a policy of three rules, against the create that it judges', (all - bare) / bare, 'x', MOST_JUDGED),
      note("server's processor for a create of a Deployment", bare, 'microseconds'),
      note("server's processor for one that a policy of three rules judges", all, 'microseconds'),
    ];
  });
}
