import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { type Rules, slowStrategicMerge } from '../../test/reference/strategic-merge.ts';
import type { Json, JsonObject } from '../meta/merge-patch.ts';
import { strategicMerge } from './strategic-merge.ts';

const containerRules: Rules = {
  env: { key: 'name' },
  ports: { key: 'containerPort' },
  volumeMounts: { key: 'mountPath' },
};
const podRules: Rules = {
  metadata: { fields: { finalizers: { key: '' }, ownerReferences: { key: 'uid' } } },
  spec: {
    fields: {
      containers: { key: 'name', fields: containerRules },
      initContainers: { key: 'name', fields: containerRules },
      volumes: { key: 'name' },
    },
  },
};
const budgetRules: Rules = { spec: { fields: { selector: { replaced: true } } } };

type Draw = (below: number) => number;

/** Numbers that look random and are the same in every run. */
function drawer(seed: number): Draw {
  let state = seed * 2 + 1;
  return (below) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
}

/** Objects of the shape of a pod; `patch`: with nulls and directives, some of which are refused. */
class Objects {
  readonly #draw: Draw;
  readonly #patch: boolean;

  constructor(draw: Draw, patch: boolean) {
    this.#draw = draw;
    this.#patch = patch;
  }

  pod(): JsonObject {
    const draw = this.#draw;
    return this.#object({
      metadata: () =>
        this.#object({
          labels: () => this.#labels(),
          ...this.#plainList('finalizers'),
          ...this.#list('ownerReferences', 'uid', ['u1', 'u2', 'u3'], () => ({ controller: () => draw(2) === 0 })),
        }),
      spec: () =>
        this.#object({
          ...this.#list('containers', 'name', ['a', 'b', 'c', 'd'], () => this.#container()),
          ...this.#list('initContainers', 'name', ['i', 'j'], () => this.#container()),
          ...this.#list('volumes', 'name', ['v', 'w'], () => ({
            emptyDir: () => this.#object({ medium: () => 'Memory' }),
            hostPath: () => this.#object({ path: () => `/${draw(3)}` }),
          })),
          tolerations: () => [{ key: `k${draw(2)}` }],
          nodeSelector: () => this.#labels(),
          hostname: () => `h${draw(3)}`,
        }),
    });
  }

  budget(): JsonObject {
    return this.#object({ spec: () => this.#object({ selector: () => this.#object({ matchLabels: () => this.#labels() }) }) });
  }

  #container(): Members {
    const draw = this.#draw;
    return {
      image: () => `i${draw(3)}`,
      args: () => [`x${draw(2)}`],
      ...this.#list('env', 'name', ['A', 'B', 'C'], () => ({ value: () => `${draw(3)}` })),
      ...this.#list('ports', 'containerPort', [80, 81], () => ({ protocol: () => ['TCP', 'UDP'][draw(2)]! })),
    };
  }

  #labels(): JsonObject {
    return this.#object({ l: () => `${this.#draw(2)}`, m: () => `${this.#draw(2)}`, n: () => `${this.#draw(2)}` });
  }

  #object(members: Members): JsonObject {
    const draw = this.#draw;
    const patch = this.#patch;
    const result: JsonObject = {};
    for (const [name, make] of Object.entries(members)) {
      if (draw(3) === 0) continue;
      result[name] = patch && !name.startsWith('$') && draw(9) === 0 ? null : make();
    }
    if (patch && draw(14) === 0) result.$patch = ['merge', 'replace', 'delete'][draw(3)]!;
    if (patch && draw(14) === 0) result.$retainKeys = Object.keys(members).filter((name) => name in result || draw(5) === 0);
    return result;
  }

  /** The members of a list that is merged by a key, with what orders it. */
  #list(name: string, key: string, names: readonly Json[], rest: () => Members): Members {
    const draw = this.#draw;
    const patch = this.#patch;
    const items = (): JsonObject[] => {
      const chosen = this.#some(names);
      if (draw(5) === 0 && chosen.length > 0) chosen.push(chosen[0]!);
      return chosen.map((each) => {
        if (!patch || draw(6) > 0) return { ...this.#object(rest()), [key]: each };
        return draw(3) > 0 ? { [key]: each, $patch: 'delete' } : { [key]: each, $patch: ['merge', 'replace'][draw(2)]! };
      });
    };
    const order = (): Json[] => this.#some(names).map((each) => ({ [key]: each }));
    return { [name]: items, ...(patch && draw(4) === 0 && { [`$setElementOrder/${name}`]: order }) };
  }

  #plainList(name: string): Members {
    const draw = this.#draw;
    const patch = this.#patch;
    const values = (): Json[] => this.#some(['f', 'g', 'h', 'i']);
    if (!patch) return { [name]: values };
    return {
      [name]: values,
      ...(draw(3) === 0 && { [`$deleteFromPrimitiveList/${name}`]: values }),
      ...(draw(3) === 0 && { [`$setElementOrder/${name}`]: values }),
    };
  }

  /** Some of the names, in any order. */
  #some<T>(names: readonly T[]): T[] {
    return names
      .map((name) => ({ name, at: this.#draw(1000) }))
      .filter(({ at }) => at > 250)
      .sort((a, b) => a.at - b.at)
      .map(({ name }) => name);
  }
}
type Members = Readonly<Record<string, () => Json>>;

const quickly = (run: () => JsonObject): JsonObject | undefined => {
  try {
    return run();
  } catch (error) {
    if (!/^cannot patch: /.test((error as Error).message)) throw error;
    return undefined;
  }
};

describe('a strategic merge patch, compared with a slow reference', () => {
  it.each([
    ['berth.core.v1.Pod', podRules, (objects: Objects) => objects.pod(), 1500],
    ['berth.policy.v1.PodDisruptionBudget', budgetRules, (objects: Objects) => objects.budget(), 300],
  ] as const)('gives the same for random objects and patches of %s', (message, rules, make, runs) => {
    let applied = 0;
    for (let seed = 0; seed < runs; seed++) {
      const draw = drawer(seed);
      const target = make(new Objects(draw, false));
      const patch = make(new Objects(draw, true));
      const before = structuredClone({ target, patch });
      const expected = slowStrategicMerge(rules, target, patch);
      const found = quickly(() => strategicMerge(message, target, patch));
      const [here, there] = [
        { seed, ...before, found },
        { seed, target, patch, found: expected },
      ];
      if (!isDeepStrictEqual(here, there)) expect(here).toEqual(there);
      if (expected) applied++;
    }
    expect(applied).toBeGreaterThan(runs / 4);
  });
});
