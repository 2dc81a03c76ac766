// Draws dashboards with Grafana's own components (@grafana/ui), which need no Grafana. What its panels do beside them
// is done here for the kinds of panels that we have: stat, timeseries, bargauge, table.
import React from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { lastValueFrom } from 'rxjs';
import {
  createTheme, dateTime, FieldType, getDisplayProcessor, getFieldDisplayName, getFieldDisplayValues,
  standardTransformers, standardTransformersRegistry, ThemeContext, toDataFrame, transformDataFrame,
} from '@grafana/data';
import { BarGauge, BigValue, GlobalStyles, PanelChrome, Table, TimeSeries, VizRepeater } from '@grafana/ui';

const CELL = { width: 66, height: 30, gap: 8 };
const theme = createTheme({ colors: { mode: 'dark' } });
const same = (value) => value;
standardTransformersRegistry.setInit(() =>
  ['merge', 'organize'].map((id) => ({
    id, name: id, transformation: Object.values(standardTransformers).find((one) => one.id === id),
  })));

const named = (legend, labels) =>
  legend ? legend.replace(/{{\s*(\w+)\s*}}/g, (_, label) => labels[label] ?? '') : JSON.stringify(labels);

// A query's answer as frames: one for each series, or one table.
function frames(target) {
  const value = (number) => (Number.isFinite(+number) ? +number : null);
  if (target.format === 'table') {
    const labels = [...new Set(target.series.flatMap((series) => Object.keys(series.metric)))].filter((n) => n !== '__name__');
    return [toDataFrame({
      refId: target.refId,
      fields: [
        { name: 'Time', type: FieldType.time, values: target.series.map((s) => s.value[0] * 1000) },
        ...labels.map((name) => ({ name, type: FieldType.string, values: target.series.map((s) => s.metric[name] ?? '') })),
        { name: target.only ? 'Value' : `Value #${target.refId}`, type: FieldType.number, values: target.series.map((s) => value(s.value[1])) },
      ],
    })];
  }
  return target.series.map((series) => {
    const pairs = series.values ?? [series.value];
    const displayNameFromDS = named(target.legendFormat, series.metric);
    return toDataFrame({
      refId: target.refId,
      fields: [
        { name: 'Time', type: FieldType.time, values: pairs.map(([time]) => time * 1000) },
        { name: 'Value', type: FieldType.number, labels: series.metric, config: { displayNameFromDS }, values: pairs.map(([, v]) => value(v)) },
      ],
    });
  });
}

// What the panel's field configuration makes of each field.
function configured(data, { defaults, overrides }) {
  let seriesIndex = 0;
  const known = data.flatMap(({ fields }) => fields.filter(({ type }) => type === FieldType.number))
    .flatMap(({ values }) => values.filter((value) => value !== null));
  const { min = Math.min(...known), max = Math.max(...known) } = defaults;
  for (const frame of data) {
    for (const field of frame.fields) {
      const config = { ...defaults, ...field.config, custom: { ...defaults.custom } };
      const name = getFieldDisplayName(field, frame, data);
      for (const { matcher, properties } of overrides) {
        if (matcher.id !== 'byName' || matcher.options !== name) continue;
        for (const { id, value } of properties) {
          if (id.startsWith('custom.')) config.custom[id.slice(7)] = value;
          else config[id] = value;
        }
      }
      field.config = field.type === FieldType.number ? config : { ...field.config, custom: config.custom };
      field.state = { ...field.state, displayName: name };
      if (field.type === FieldType.number) {
        Object.assign(field.state, { seriesIndex: seriesIndex++, range: { min, max, delta: max - min } });
      }
      field.display = getDisplayProcessor({ field, theme, timeZone: 'utc' });
    }
  }
  return data;
}

function values(panel, data, sparkline) {
  return getFieldDisplayValues({
    data, theme, sparkline, timeZone: 'utc', replaceVariables: same,
    fieldConfig: panel.fieldConfig, reduceOptions: { values: false, ...panel.options.reduceOptions },
  });
}

const DRAWN = {
  stat(panel, data, width, height) {
    const [one] = values(panel, data, true);
    return <BigValue value={one.display} sparkline={one.sparkline} {...{ width, height, theme }} colorMode={panel.options.colorMode}
      text={panel.options.text} graphMode={panel.options.graphMode} justifyMode="auto" textMode="value" />;
  },
  bargauge(panel, data, width, height) {
    const { orientation, displayMode, showUnfilled } = panel.options;
    return <VizRepeater {...{ width, height, orientation }} itemSpacing={8} renderCounter={0} getValues={() => values(panel, data, false)}
      source={data} renderValue={({ value, width, height }) => (
        <BarGauge value={value.display} field={value.field} text={panel.options.text} display={value.view?.getFieldDisplayProcessor(value.colIndex)}
          {...{ width, height, orientation, theme, displayMode, showUnfilled }} itemSpacing={8} lcdCellWidth={8} />)} />;
  },
  table: (panel, data, width, height) => <Table data={data[0]} {...{ width, height }} initialSortBy={panel.options.sortBy} />,
  timeseries(panel, data, width, height, page) {
    const timeRange = { from: dateTime(page.start * 1000), to: dateTime(page.end * 1000), raw: { from: 'now-6h', to: 'now' } };
    return <TimeSeries frames={data} structureRev={1} timeZone="utc" {...{ width, height, timeRange }} legend={panel.options.legend} />;
  },
};

async function drawn(panel, page) {
  const targets = panel.targets.map((target) => ({ ...target, only: panel.targets.length === 1 }));
  let data = targets.flatMap(frames);
  if (panel.transformations.length) data = await lastValueFrom(transformDataFrame(panel.transformations, data));
  data = configured(data.filter((frame) => frame.length), panel.fieldConfig);
  return { panel, data, page };
}

class Guarded extends React.Component {
  state = {};
  static getDerivedStateFromError(error) { return { error }; }
  render() { return this.state.error ? <b data-broken>{String(this.state.error)}</b> : this.props.children; }
}

function Panel({ panel, data, page }) {
  const { x, y, w, h } = panel.gridPos;
  const width = w * (CELL.width + CELL.gap) - CELL.gap, height = h * (CELL.height + CELL.gap) - CELL.gap;
  const style = { position: 'absolute', left: x * (CELL.width + CELL.gap), top: y * (CELL.height + CELL.gap), width, height };
  if (panel.type === 'row') return <h4 style={{ ...style, lineHeight: `${height}px`, margin: 0 }}>⌄ {panel.title}</h4>;
  return (
    <div style={style} data-panel={panel.title} data-empty={data.length ? undefined : true}>
      <PanelChrome title={panel.title} description={panel.description} {...{ width, height }}>
        {(width, height) => <Guarded>{data.length ? DRAWN[panel.type](panel, data, width, height, page) : <em>{panel.fieldConfig.defaults.noValue}</em>}</Guarded>}
      </PanelChrome>
    </div>
  );
}

async function main() {
  const page = window.PAGE;
  const panels = await Promise.all(page.dashboard.panels.map((p) => (p.type === 'row' ? { panel: p, data: [], page } : drawn(p, page))));
  const bottom = Math.max(...page.dashboard.panels.map(({ gridPos: { y, h } }) => y + h));
  const root = createRoot(document.getElementById('root'));
  flushSync(() => root.render(
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <div style={{ position: 'relative', width: 24 * (CELL.width + CELL.gap), height: bottom * (CELL.height + CELL.gap), margin: 8 }}>
        {panels.map((one) => <Panel key={one.panel.id} {...one} />)}
      </div>
    </ThemeContext.Provider>));
  setTimeout(() => document.body.setAttribute('data-drawn', panels.length), 1500);
}
main().catch((error) => { document.body.textContent = error.stack; });
