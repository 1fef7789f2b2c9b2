"""TEMPORARY stand-in (overwrite me): the panel interface in memory."""
from __future__ import annotations
import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
import numpy as np, pandas as pd

@dataclass
class RawPanel:
    dates: np.ndarray; symbols: list; fields: list; values: np.ndarray; observed: np.ndarray

class Panel:
    def __init__(s, raw, path):
        s.dates=raw.dates; s.symbols=raw.symbols; s.fields=raw.fields; s.values=raw.values; s.observed=raw.observed
        s.path=Path(path); s.checksum="0"*64; s.bars_per_year=252.0
        d=pd.DatetimeIndex(s.dates)
        s.sessions=np.arange(len(d),dtype=np.int32)
        s.stamps=np.stack([d.minute,d.hour,d.weekday,d.day,d.month],1).astype(np.int64)
    @staticmethod
    def open(path, verify=False): 
        import pickle
        return Panel(pickle.load(open(Path(path)/'raw.pkl','rb')),path)
    def field(s,n): return s.values[..., s.fields.index(n)]

class PanelSource(ABC):
    @abstractmethod
    def load(self) -> RawPanel: ...
    def fingerprint(self) -> str: return "x"*12

def build_panel(source, path, overwrite=False):
    Path(path).mkdir(parents=True,exist_ok=True)
    import pickle
    raw=source.load(); pickle.dump(raw,open(Path(path)/'raw.pkl','wb'))
    return Panel(raw, path)

def _raw(d, fields):
    p={f:d.pivot(index='date',columns='symbol',values=f).sort_index(axis=1) for f in fields}
    c=p[fields[0]]
    v=np.stack([p[f].to_numpy(np.float32) for f in fields],-1)
    return RawPanel(c.index.to_numpy('datetime64[ns]'),list(map(str,c.columns)),list(fields),v,np.isfinite(v[...,0]))

class FrameSource(PanelSource):
    def __init__(self, frame): self.frame=frame
    def load(self): return _raw(self.frame,[c for c in self.frame if c not in('date','symbol')])

class SampleSource(PanelSource):
    def load(self):
        import importlib.util
        p=Path(importlib.util.find_spec('skfolio').origin).parent/'datasets/data/sp500_dataset.csv.gz'
        d=pd.read_csv(p,parse_dates=['Date']).rename(columns={'Date':'date'}).melt('date',var_name='symbol',value_name='close')
        return _raw(d,['close'])

class ParquetSource(PanelSource):
    def __init__(self, path: str, returns: dict | None = None, extra: list[str] | None = None): self.path=path
    def load(self):
        d=pd.read_parquet(os.path.expandvars(self.path)); d['date']=pd.to_datetime(d['date']); d['symbol']=d['symbol'].astype(str)
        d=d.sort_values(['symbol','date']); g=d.groupby('symbol')
        r=d.p_change.astype(float)/100; r[g.cumcount()==0]=0
        adj=(1+r).groupby(d.symbol).cumprod()*g.close.transform('first'); k=adj/d.close
        for f in('open','high','low'): d[f]=d[f]*k
        d['close']=adj; d['volume']=d.volume/k; d['csi300']=d.csi300.astype(float)
        return _raw(d,['open','high','low','close','volume','csi300'])
