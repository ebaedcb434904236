import type { Labels } from '../../../api/meta/labels.ts';
import { isSelected, type PodFace, type PodSelection } from '../../framework/pod-selection.ts';
import type { DomainCounts } from './domain-counts.ts';
import type { Domains } from './domains.ts';

/** Pods that no selector can tell apart, with how many of them are on which node. */
export interface PodClass {
  readonly face: PodFace;
  pods: number;
  /** By the node's name. */
  readonly nodes: Map<string, number>;
  readonly populations: Set<Population>;
}

/** The pods that a selection chooses, as classes, with what is kept of them. */
export interface Population {
  readonly selection: PodSelection;
  readonly classes: Set<PodClass>;
  readonly tallies: Set<RowCounter>;
  readonly terms: Set<Carried>;
}

/** Counts pods of a population by the row that their node is in. */
export interface RowCounter {
  add(row: number, amount: number): void;
}

/** Required anti-affinity and affinity, and preferences of both. */
export type TermKind = 'anti' | 'required' | 'preferred';

/** A term that pods on nodes have, about the pods of a population. */
export interface Carried {
  readonly kind: TermKind;
  readonly domains: Domains;
  /** How many of those that have it are in each domain; of preferences the sum of their weights. */
  readonly counts: DomainCounts;
}

/**
 * Which pods belong to which selections, answered once for each class of pods and each selection. Both find each other
 * by a label that the selection asks for, so that a new one looks at few of thousands.
 */
export interface PodClasses {
  /** The class of a pod, whether or not it is on a node. */
  of(face: PodFace): PodClass;
  /** A pod of the class came to the node, or left it. */
  count(podClass: PodClass, node: string, sign: 1 | -1): void;
  /** The population of a selection; it lives as long as anything is kept of it. */
  populationOf(selection: PodSelection): Population;
  /** Nothing may be kept of it any more. */
  release(population: Population): void;
  selects(selection: PodSelection, face: PodFace): boolean;
  /** Undefined when the namespace is gone. */
  setNamespace(name: string, labels: Labels | undefined): void;
  readonly size: number;
}

export interface PodClassesOptions {
  /** The class came into the population, or left it, because its namespace has other labels. */
  readonly onMoved: (podClass: PodClass, population: Population, sign: 1 | -1) => void;
}

/** Classes without a pod on a node that are kept for the pods still to be placed; the one idle for longest goes. */
const mostIdle = 1_024;

export function createPodClasses(options: PodClassesOptions): PodClasses {
  return new LivePodClasses(options);
}

class LivePodClasses implements PodClasses {
  readonly #options: PodClassesOptions;
  readonly #classes = new Map<string, PodClass>();
  readonly #idle = new Set<PodClass>();
  readonly #populations = new Map<string, Population>();
  readonly #namespaces = new Map<string, Labels>();
  readonly #classesByLabel = createBuckets<PodClass>();
  readonly #populationsByLabel = createBuckets<Population>();
  readonly #unanchored = new Set<Population>();

  constructor(options: PodClassesOptions) {
    this.#options = options;
  }

  selects(selection: PodSelection, face: PodFace): boolean {
    return isSelected(selection, face, this.#namespaces.get(face.namespace));
  }

  of(face: PodFace): PodClass {
    const known = this.#classes.get(face.key);
    if (known) return known;
    const created = this.#createClass(face);
    this.#rest(created);
    return created;
  }

  count(podClass: PodClass, node: string, sign: 1 | -1): void {
    podClass.pods += sign;
    const there = (podClass.nodes.get(node) ?? 0) + sign;
    if (there === 0) podClass.nodes.delete(node);
    else podClass.nodes.set(node, there);
    if (podClass.pods === 0) this.#rest(podClass);
    else this.#idle.delete(podClass);
  }

  populationOf(selection: PodSelection): Population {
    return this.#populations.get(selection.key) ?? this.#createPopulation(selection);
  }

  release(population: Population): void {
    if (population.tallies.size + population.terms.size > 0) return;
    this.#populations.delete(population.selection.key);
    for (const podClass of population.classes) podClass.populations.delete(population);
    const anchor = anchorOf(population.selection);
    if (anchor === undefined) this.#unanchored.delete(population);
    else this.#populationsByLabel.delete(anchor, population);
  }

  setNamespace(name: string, labels: Labels | undefined): void {
    if (labels) this.#namespaces.set(name, labels);
    else this.#namespaces.delete(name);
    for (const podClass of this.#classes.values()) if (podClass.face.namespace === name) this.#reconsider(podClass);
  }

  get size(): number {
    return this.#classes.size;
  }

  #belongs(face: PodFace, { selection }: Population): boolean {
    return isSelected(selection, face, this.#namespaces.get(face.namespace));
  }

  #link(podClass: PodClass, population: Population): void {
    podClass.populations.add(population);
    population.classes.add(podClass);
  }

  #unlink(podClass: PodClass, population: Population): void {
    podClass.populations.delete(population);
    population.classes.delete(podClass);
  }

  #createClass(face: PodFace): PodClass {
    const created: PodClass = { face, pods: 0, nodes: new Map(), populations: new Set() };
    this.#classes.set(face.key, created);
    for (const label of labelsOf(face)) {
      this.#classesByLabel.add(label, created);
      for (const population of this.#populationsByLabel.get(label))
        if (this.#belongs(face, population)) this.#link(created, population);
    }
    for (const population of this.#unanchored) if (this.#belongs(face, population)) this.#link(created, population);
    return created;
  }

  #rest(podClass: PodClass): void {
    this.#idle.add(podClass);
    if (this.#idle.size <= mostIdle) return;
    for (const oldest of this.#idle) {
      this.#idle.delete(oldest);
      this.#classes.delete(oldest.face.key);
      for (const label of labelsOf(oldest.face)) this.#classesByLabel.delete(label, oldest);
      for (const population of oldest.populations) population.classes.delete(oldest);
      break;
    }
  }

  #createPopulation(selection: PodSelection): Population {
    const created: Population = { selection, classes: new Set(), tallies: new Set(), terms: new Set() };
    this.#populations.set(selection.key, created);
    const anchor = anchorOf(selection);
    if (anchor === undefined) this.#unanchored.add(created);
    else this.#populationsByLabel.add(anchor, created);
    for (const podClass of anchor === undefined ? this.#classes.values() : this.#classesByLabel.get(anchor))
      if (this.#belongs(podClass.face, created)) this.#link(podClass, created);
    return created;
  }

  /** Only populations that choose namespaces by labels can have changed. */
  #reconsider(podClass: PodClass): void {
    for (const population of this.#populations.values()) {
      if (!population.selection.parts.some(({ namespaceSelector }) => namespaceSelector)) continue;
      const was = podClass.populations.has(population);
      if (was === this.#belongs(podClass.face, population)) continue;
      if (was) this.#unlink(podClass, population);
      else this.#link(podClass, population);
      this.#options.onMoved(podClass, population, was ? -1 : 1);
    }
  }
}

function labelsOf({ labels }: PodFace): string[] {
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`);
}

/** A label that every pod of the selection has. */
function anchorOf({ parts }: PodSelection): string | undefined {
  for (const { labels } of parts)
    for (const { key, operator, values } of labels?.requirements ?? [])
      if (operator === 'in' && values.length === 1) return `${key}=${values[0]}`;
  return undefined;
}

interface Buckets<V> {
  add(key: string, value: V): void;
  delete(key: string, value: V): void;
  get(key: string): Iterable<V>;
}

function createBuckets<V>(): Buckets<V> {
  const buckets = new Map<string, Set<V>>();
  return {
    add(key, value) {
      const bucket = buckets.get(key);
      if (bucket) bucket.add(value);
      else buckets.set(key, new Set([value]));
    },
    delete(key, value) {
      const bucket = buckets.get(key);
      bucket?.delete(value);
      if (bucket?.size === 0) buckets.delete(key);
    },
    get: (key) => buckets.get(key) ?? [],
  };
}
