import type { Describer } from './describer.ts';
import { text, tree } from './json.ts';
import { writePodTemplate } from './pod-template.ts';
import { writeController, writeLabels, writeName } from './sections.ts';
import { number, writeCreation } from './workload.ts';

/** An earlier or the present template of a StatefulSet or DaemonSet. */
export const describeControllerRevision: Describer =
  async (object, { now }) =>
  (lines) => {
    writeName(object, lines);
    writeCreation(object, lines, now);
    writeLabels(object, lines);
    writeController(object, lines);
    lines.field('Revision', number(object, 'revision'));
    const template = tree(object, 'data', 'spec', 'template');
    if (Object.keys(template).length > 0) writePodTemplate(template, lines);
    else lines.field('Data', JSON.stringify(object.data ?? {}));
  };

export const describePodTemplate: Describer =
  async (object, { now }) =>
  (lines) => {
    writeName(object, lines);
    writeCreation(object, lines, now);
    writeLabels(object, lines);
    if (text(object, 'template', 'metadata', 'name')) lines.field('Pod Name', text(object, 'template', 'metadata', 'name'));
    writePodTemplate(tree(object, 'template'), lines);
  };
